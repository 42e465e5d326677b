"""The files of a collection: what is read and what is written."""
