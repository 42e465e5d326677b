"""How one page is decided: the steps, in their order."""
