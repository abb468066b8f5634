"""The scores: vectors in, numbers out."""
