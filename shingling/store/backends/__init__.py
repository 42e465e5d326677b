"""The databases that a store can be kept in."""
