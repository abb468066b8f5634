"""Encode a corpus of any size: a folder of shards, made on many machines, begun and continued."""

from clusterns.encoding.run import EncodeReport, encode_corpus
from clusterns.encoding.settings import EncodeSettings, Share
from clusterns.encoding.shards import Shards
from clusterns.encoding.vectors import all_devices, check_devices

__all__ = [
    "EncodeReport",
    "EncodeSettings",
    "Shards",
    "Share",
    "all_devices",
    "check_devices",
    "encode_corpus",
]
