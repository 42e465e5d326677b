"""The inputs of a collection: files, folders, streams and queries, read as rows."""
