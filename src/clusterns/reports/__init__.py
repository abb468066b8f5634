"""A self-contained HTML page about a run, or about several side by side.

In: run folders, with their models and corpora where they still exist. Out: one HTML file.
"""
