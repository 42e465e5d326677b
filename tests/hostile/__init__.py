"""Attacks: pages, texts, URLs and files made to slow down, break or mislead."""
