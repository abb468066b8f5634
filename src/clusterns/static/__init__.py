"""Static embeddings: ordered lines of text come in; a table with one vector per word piece goes out.

Co-occurrence counts yield the initial vectors; contrastive training on adjacent lines improves them.
"""
