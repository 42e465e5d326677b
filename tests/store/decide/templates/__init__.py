"""Templates of sites: learned from the pages as they come, and left out of what is compared."""
