"""Exploring text with a model: near-duplicates, topics, and the explorer in the browser.

In: a model and a corpus. Out: embedded sentences with their neighbors, tables, and a local web page.
"""
