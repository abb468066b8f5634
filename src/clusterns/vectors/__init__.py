"""Text and a model come in; embeddings in shards and an index that is searched by vectors and by words go out.

Each distinct text is encoded once, on one machine or many, and an interrupted call is continued.
"""
