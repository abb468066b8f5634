"""Encode a corpus of any size: a folder of shards, made on many machines, begun and continued."""
