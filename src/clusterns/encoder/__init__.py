"""Encoders: a base to a SentenceTransformer, and the heads that exist in training only."""
