"""Encoders. In: the name of a model. Out: a SentenceTransformer, ready for encoding or training."""
