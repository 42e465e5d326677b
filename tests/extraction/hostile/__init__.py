"""Pages and processes that ask too much of workers."""
