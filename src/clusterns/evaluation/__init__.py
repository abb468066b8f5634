"""Evaluate any embedding model: STS, transfer, clustering, geometry, retrieval, mteb, and your own sets.

In: a model's embeddings, and sets of the catalog or of the user. Out: scores with their settings, predictions per
example, tables, and differences between models with confidence intervals.
"""
