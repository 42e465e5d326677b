"""How alike two signatures, or two texts, are."""
