"""What each page of the application shows, read from the store."""
