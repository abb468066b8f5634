"""Static embeddings: ordered lines of text come in; a table with one vector per word piece goes out.

Co-occurrence counts give the first vectors; a contrast between a line and the next one improves them.
"""
