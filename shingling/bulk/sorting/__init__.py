"""Rows with equal ids, texts or keys, found by sorting: step 3 of a run."""
