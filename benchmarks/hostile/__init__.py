"""The plugin under attack: hostile pages, killed processes and a long crawl."""
