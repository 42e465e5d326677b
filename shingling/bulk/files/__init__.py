"""The inputs of a collection: files, archives, streams and queries, read as rows."""
