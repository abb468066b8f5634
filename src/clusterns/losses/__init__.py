"""Losses: pure functions, the centroids, and the contrastive losses that compose them."""
