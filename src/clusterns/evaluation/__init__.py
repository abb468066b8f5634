"""Evaluate any embedding model: STS, transfer, clustering, geometry, retrieval, mteb, one's own sets.

A model's embeddings and sets of the catalog or of the user come in. Scores with their settings, predictions per
example, tables, and differences between models with their intervals go out.
"""
