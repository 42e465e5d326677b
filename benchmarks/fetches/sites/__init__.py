"""Simulated sites, in two halves: what is tuned on `seen` is reported on `unseen`."""
