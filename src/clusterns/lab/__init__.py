"""Experiments as small files: their cells run anywhere, tables and figures from their results."""
