"""Query, rebuild, export, import and review a store."""
