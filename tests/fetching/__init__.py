"""Fewer fetches, with the plugin."""
