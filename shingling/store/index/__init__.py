"""Keys of signatures, and the tables that find the pages with a key."""
