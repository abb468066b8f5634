"""Losses: token rows and a model come in, one loss with its diagnostics goes out.

The formulas are pure functions; a loss joins InfoNCE with the parts of a method, one file for each method.
"""
