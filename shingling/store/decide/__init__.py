"""Decide a batch of pages: each one is new, exact, near, unchanged or changed."""
