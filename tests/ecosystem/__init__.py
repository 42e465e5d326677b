"""Crawls beside other packages, each skipped where its package is not installed."""
