"""Encoders: a base to a SentenceTransformer, and the heads that exist in training only."""

from clusterns.encoder.base import (
    MINIBERT,
    default_base,
    is_sentence_transformer,
    load_base,
    load_tokenizer,
    minibert_folder,
    pooling_of,
    resolve_base,
    without_training_parts,
)
from clusterns.encoder.denoising import Denoising
from clusterns.encoder.dropout import draw_dropout_fast, has_dropout, set_dropout
from clusterns.encoder.first_position import train_every_position, train_first_position_only
from clusterns.encoder.head import TrainingHead, add_training_head, heads_on
from clusterns.encoder.masked_lm import MaskedLMHead, add_masked_lm_head
from clusterns.encoder.prompt import add_denoising, prompt_encoder
from clusterns.encoder.settings import EncoderSettings

__all__ = [
    "MINIBERT",
    "Denoising",
    "EncoderSettings",
    "MaskedLMHead",
    "TrainingHead",
    "add_denoising",
    "add_masked_lm_head",
    "add_training_head",
    "default_base",
    "draw_dropout_fast",
    "has_dropout",
    "heads_on",
    "is_sentence_transformer",
    "load_base",
    "load_tokenizer",
    "minibert_folder",
    "pooling_of",
    "prompt_encoder",
    "resolve_base",
    "set_dropout",
    "train_every_position",
    "train_first_position_only",
    "without_training_parts",
]
