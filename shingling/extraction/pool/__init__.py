"""Pages extracted away from the event loop, each with a time limit."""

from shingling.extraction.pool.pool import ExtractionPool, start_worker

__all__ = ["ExtractionPool", "start_worker"]
