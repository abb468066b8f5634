"""A map behind a good sentence encoder, fitted to a text without labels.

In: the settings of one purpose, a text and a base. Out: a run folder whose model lies between the base and
the base with the map, where a label-free score on held-out text is best.
"""
