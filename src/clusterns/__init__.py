"""Train sentence embeddings from plain text, without labels."""
