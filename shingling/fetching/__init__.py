"""Fewer fetches: requests that would repeat a page are skipped (`DEDUP_FETCH`)."""
