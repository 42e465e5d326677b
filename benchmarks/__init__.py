"""Speed and quality, measured; each prints a table and writes JSON."""
