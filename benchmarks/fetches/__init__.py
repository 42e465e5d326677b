"""Requests that are not made: simulated sites of real pages, and who fetches how much of them."""
