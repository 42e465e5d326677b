"""How pages are decided: rules, methods and default values, which cost nothing to import."""
