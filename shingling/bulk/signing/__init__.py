"""Sign the rows of a collection, in worker processes."""
