"""Maintain a store: rebuild, reviews, export and import, checks, what people look at."""
