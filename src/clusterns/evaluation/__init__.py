"""Evaluate any embedding model: STS, transfer, clustering, geometry, one's own sets."""
