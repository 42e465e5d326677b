"""Algorithms of other systems, written anew from their descriptions, to compare numbers with."""
