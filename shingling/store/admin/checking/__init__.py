"""Examine a whole store, and mend what can be made again."""
