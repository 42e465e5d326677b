"""Settings are recommended from labelled pairs."""
