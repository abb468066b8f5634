"""Adapt a good sentence encoder to a text without labels, by a map applied to its embeddings.

The settings of one purpose, a text and a base come in. A run folder goes out, whose model is the interpolation between
the base and the base with the map that has the best label-free score on held-out text.
"""
