"""Losses: the input is token rows and a model, the output one loss with its diagnostics.

The formulas are pure functions. A loss combines InfoNCE with the parts of a method; each method has its own file.
"""
