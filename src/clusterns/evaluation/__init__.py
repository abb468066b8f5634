"""Evaluate any embedding model: STS, transfer, clustering, geometry, retrieval, mteb, and your own sets.

The input is a model's embeddings, and sets of the catalog or of the user. The output is scores with their settings,
predictions per example, tables, and differences between models with confidence intervals.
"""
