"""HTML to main text, title and language, in worker processes away from the event loop."""
