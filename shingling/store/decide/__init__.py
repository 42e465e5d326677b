"""Decide about a batch of pages: new, exact, near, unchanged or changed."""
