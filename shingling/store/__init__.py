"""The signature store: tables, candidate search, the atomic check-and-insert."""
