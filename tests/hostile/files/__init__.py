"""Attacks by files: archives, tables and lines."""
