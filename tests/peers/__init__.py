"""Algorithms of other systems, written anew from descriptions, to compare results with."""
