"""What is read from a page: main text, title, language, and why there is nothing."""
