"""A self-contained HTML page about a run, or about several side by side.

Run folders come in, with their models and corpora if they still exist; one HTML file goes out.
"""
