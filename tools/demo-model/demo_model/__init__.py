"""Trains, exports and evaluates the small demo model of the V4.1 architecture."""
