"""Text and a model come in; sharded embeddings and an index for search by vectors and words go out.

Each distinct text is encoded once, on one machine or many, and an interrupted call can be continued.
"""
