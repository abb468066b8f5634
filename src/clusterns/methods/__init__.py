"""Methods: one short file for each published method."""
