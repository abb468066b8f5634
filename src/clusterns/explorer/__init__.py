"""Near-duplicates, topics, and the explorer in the browser.

A model and a corpus come in; embedded sentences with their neighbors, tables, and a local web page go out.
"""
