"""Encoders. In: the name of a model. Out: a SentenceTransformer, ready to encode or to train."""
