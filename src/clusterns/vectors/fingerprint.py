"""Fingerprint of a model: a digest of everything that determines its vectors, and of nothing else.

It ignores how libraries print or name things, so that an upgrade does not invalidate a folder of vectors: it hashes
weights without their names, and modules by class name and the options that are on. It also ignores versions, names and
training options.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import torch
from transformers import PreTrainedModel

from clusterns.errors import UserError

# Keys of an encoder's configuration that do not affect its vectors: origin, training and decoding.
_IGNORED = re.compile(
    r"_.*|.*version|architectures|.*dtype|.*dropout.*|initializer_.*|output_.*|return_dict|use_cache"
    r"|tie_.*|gradient_checkpointing|id2label|label2id|problem_type|is_decoder|add_cross_attention"
    r"|chunk_size_feed_forward|transformers_weights"
)
_CLASS_PATH = re.compile(r"[a-z_]\w*(\.\w+)*\.([A-Z]\w*)")


def fingerprint(model: Any) -> str:
    """Compute a digest of everything that determines a model's vectors: weights, modules, tokenizer, prompts."""
    if not isinstance(model, torch.nn.Module):
        raise UserError("only a PyTorch model has a fingerprint, which caching needs.")
    facts = {
        "modules": list(_modules(model)),
        # Another spelling of this key would change every fingerprint.
        "tokeniser": _tokenizer(getattr(model, "tokenizer", None)),
        "max_length": getattr(model, "max_seq_length", None),
        "prompts": getattr(model, "prompts", None),
        "prompt": getattr(model, "default_prompt_name", None),
        "truncate_dim": getattr(model, "truncate_dim", None),
    }
    digest = hashlib.sha256(json.dumps(_switched_on(facts), sort_keys=True).encode())
    for tensor in model.state_dict().values():
        # Integer tensors are tables of positions, which some versions of the libraries store.
        if tensor.is_floating_point():
            digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
            flat = tensor.detach().cpu().contiguous().flatten()
            digest.update(flat.view(torch.uint8).numpy())
    return digest.hexdigest()[:32]


def _modules(model: torch.nn.Module) -> Iterator[dict[str, Any]]:
    """The configuration of each module of a model; an encoder counts as one module."""
    for child in model.children():
        kind = type(child).__name__
        if isinstance(child, PreTrainedModel):
            config = child.config.to_diff_dict()
            used = {key: value for key, value in config.items() if not _IGNORED.fullmatch(key)}
            yield {"kind": config.get("model_type"), "config": used}
            continue
        holds_encoder = any(isinstance(part, PreTrainedModel) for part in child.children())
        config = getattr(child, "get_config_dict", None)
        if config is not None and not holds_encoder:
            yield {"kind": kind, "config": config()}
        elif not holds_encoder and child.extra_repr():
            yield {"kind": kind, "config": child.extra_repr()}
        else:
            yield {"kind": kind}
        yield from _modules(child)


def _tokenizer(tokenizer: Any) -> dict[str, Any]:
    """The rules of a tokenizer, or its words in id order."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        rules = json.loads(backend.to_str())
        # How the last batch was truncated and padded is not a property of the model.
        return {
            **rules,
            "truncation": None,
            "padding": None,
            "version": None,
            "split_special_tokens": getattr(tokenizer, "split_special_tokens", None),
            "chat_template": getattr(tokenizer, "chat_template", None),
        }
    vocabulary: Any = getattr(tokenizer, "get_vocab", dict)()
    if isinstance(vocabulary, dict):
        vocabulary = sorted(vocabulary, key=lambda word: int(vocabulary[word]))
    return {
        "kind": type(tokenizer).__name__,
        "words": list(vocabulary),
        "stop_words": sorted(getattr(tokenizer, "stop_words", ())),
        "lower_case": getattr(tokenizer, "do_lower_case", None),
    }


def _switched_on(value: Any) -> Any:
    """Drop options that are off or empty, and the module paths of classes.

    A new library option that is off by default therefore changes nothing.
    """
    if isinstance(value, dict):
        kept = {str(key): _switched_on(item) for key, item in value.items()}
        return {k: v for k, v in kept.items() if v is not None and v is not False and v != {}}
    if isinstance(value, list | tuple):
        return [_switched_on(item) for item in value]
    if isinstance(value, str):
        path = _CLASS_PATH.fullmatch(value)
        return path[2] if path else value or None
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)
