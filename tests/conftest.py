"""Fixtures that several rooms share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hash_encoder import HashEncoder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real evaluation data, named by CLUSTERNS_DATA."""
    folder = os.environ.get("CLUSTERNS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs real data: set CLUSTERNS_DATA to its folder")
    return Path(folder)


@pytest.fixture(scope="session")
def shared_models(shared_data: Path) -> Path:
    """The folder of real models, named by CLUSTERNS_MODELS or beside that of the data."""
    folder = Path(os.environ.get("CLUSTERNS_MODELS") or shared_data.parent / "models")
    if not (folder / "all-MiniLM-L6-v2").is_dir():
        pytest.skip("needs all-MiniLM-L6-v2: scripts/fetch_reference_models.py, CLUSTERNS_MODELS")
    return folder


FAMILIES = {
    "bert": ("BertConfig", "BertForMaskedLM"),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM"),
    "distilbert": ("DistilBertConfig", "DistilBertForMaskedLM"),
    "mpnet": ("MPNetConfig", "MPNetForMaskedLM"),
    "modernbert": ("ModernBertConfig", "ModernBertForMaskedLM"),
}


@pytest.fixture(scope="session", params=FAMILIES)
def tiny_base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random encoder of each supported family, saved with a tokenizer."""
    return make_tiny_base(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random BERT, for what does not depend on the family."""
    return make_tiny_base("bert", tmp_path_factory.mktemp("tiny_bert"))


def make_tiny_base(family: str, folder: Path) -> Path:
    """Save a random two-layer masked-LM of ``family`` with minibert's vocabulary."""
    import torch
    import transformers
    from transformers import PreTrainedTokenizerFast

    from clusterns.encoder.base import minibert_folder

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(minibert_folder() / "tokenizer.json"),
        pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=64,
    )  # fmt: skip
    config_name, model_name = FAMILIES[family]
    sizes = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 80,
        "pad_token_id": tokenizer.pad_token_id, "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id, "cls_token_id": tokenizer.cls_token_id,
        "sep_token_id": tokenizer.sep_token_id,
    }  # fmt: skip
    if family == "distilbert":
        sizes = {"vocab_size": len(tokenizer), "dim": 32, "n_layers": 2, "n_heads": 2,
                 "hidden_dim": 64, "max_position_embeddings": 80, "pad_token_id": 0}  # fmt: skip
    torch.manual_seed(0)
    model = getattr(transformers, model_name)(getattr(transformers, config_name)(**sizes))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def ray_place() -> Iterator[Path]:
    """Ray in a folder with a short name (sockets have 107 bytes), without a token at home."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'clusterns[ray]'")
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", str(folder))
        patch.setenv("RAY_AUTH_MODE", "disabled")
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def hash_encoder() -> HashEncoder:
    """An encoder whose vectors follow from the text alone."""
    return HashEncoder()
