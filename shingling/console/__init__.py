"""What the commands of all rooms share: how one is declared, what it opens and prints."""
