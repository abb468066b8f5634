from __future__ import annotations

import shutil
import sys
from pathlib import Path

import huggingface_hub
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense

from clusterns.encoder.load import load_base, load_model, load_tokenizer
from clusterns.encoder.locate import (
    identity_of_base,
    is_sentence_transformer,
    minibert_folder,
    resolve_base,
    with_revision,
)
from clusterns.errors import UserError
from clusterns.vectors.fingerprint import fingerprint


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    return tmp_path


def put_in_cache(cache: Path, name: str, *files: str, missing: tuple[str, ...] = ()) -> None:
    """Lay out a cached Hub model; the Hub has said that the ``missing`` files do not exist."""
    folder = cache / f"models--{name.replace('/', '--')}"
    for place in ("refs", "snapshots/abc", ".no_exist/abc"):
        (folder / place).mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc")
    for file in files:
        (folder / "snapshots" / "abc" / file).write_text("{}")
    for file in missing:
        (folder / ".no_exist" / "abc" / file).touch()


def test_only_the_hub_s_own_word_makes_a_cached_model_a_plain_encoder(hub_cache: Path) -> None:
    put_in_cache(hub_cache, "google/raw-bert", "config.json", missing=("modules.json",))
    put_in_cache(hub_cache, "owner/encoder", "config.json", "modules.json")
    put_in_cache(hub_cache, "owner/half-cached-encoder", "config.json")
    assert not is_sentence_transformer("google/raw-bert")
    assert is_sentence_transformer("owner/encoder")
    assert resolve_base("owner/half-cached-encoder")
    with pytest.raises(UserError, match=r"cannot tell whether .* Connect once"):
        is_sentence_transformer("owner/half-cached-encoder")


def test_a_lost_connection_is_no_answer(hub_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = type(huggingface_hub.get_session()).__module__.partition(".")[0]
    assert name in ("httpx", "httpx2")
    other = {"httpx": "httpx2", "httpx2": "httpx"}[name]
    monkeypatch.setitem(sys.modules, other, None)  # only the Hub's own library need be installed

    def fail(*args: object, **options: object) -> None:
        raise sys.modules[name].ConnectTimeout("too slow")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fail)
    monkeypatch.setattr("huggingface_hub.file_exists", fail)
    with pytest.raises(UserError, match="cannot tell whether owner/encoder"):
        is_sentence_transformer("owner/encoder")
    with pytest.raises(UserError, match="cannot be found on the Hugging Face Hub from here"):
        resolve_base("owner/encoder")


def test_a_base_that_cannot_be_found_names_what_can_be_used(tmp_path: Path) -> None:
    for name in ("nobody/nothing", "no valid/name/at all"):
        with pytest.raises(UserError, match="--base minibert"):
            resolve_base(name)
    with pytest.raises(UserError, match=r"without config\.json"):
        resolve_base(str(tmp_path))
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="is a file"):
        resolve_base(str(tmp_path / "file"))


def test_without_a_name_the_base_is_minibert_and_the_hub_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clusterns.encoder.locate._on_hub", lambda name: 1 / 0)
    assert resolve_base(None) == resolve_base("minibert") == str(minibert_folder())


def test_a_base_is_known_by_the_weights_of_its_modules_alone(
    tiny_bert: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    model = load_base(str(tiny_bert))
    SentenceTransformer(modules=[*model, Dense(32, 8)]).save_pretrained(str(folder))
    known = identity_of_base(str(folder))
    assert known.startswith("model ")
    # What others leave in its folder is not the model.
    (folder / "checkpoint-5").mkdir()
    (folder / "checkpoint-5" / "model.safetensors").write_bytes(b"other")
    assert identity_of_base(str(folder)) == known
    with next(folder.glob("*_Dense/model.safetensors")).open("ab") as weights:
        weights.write(b" ")
    assert identity_of_base(str(folder)) != known
    assert identity_of_base("owner/name") == "owner/name"


def test_a_revision_is_part_of_a_hub_name(hub_cache: Path, tmp_path: Path) -> None:
    put_in_cache(hub_cache, "owner/encoder", "README.md")
    repo = hub_cache / "models--owner--encoder"
    shutil.copytree(minibert_folder(), repo / "snapshots" / "def")
    (repo / "refs" / "v1").write_text("def")
    (repo / ".no_exist" / "def").mkdir()
    (repo / ".no_exist" / "def" / "modules.json").touch()
    model = load_model("owner/encoder@v1", "mean")
    assert fingerprint(model) == fingerprint(load_model("minibert", "mean"))
    assert load_tokenizer("owner/encoder@v1").vocab_size == model.tokenizer.vocab_size
    for name in ("owner/encoder", "owner/encoder@v2"):  # main has no model, v2 does not exist
        with pytest.raises(UserError, match=f"'{name}' is not a folder"):
            resolve_base(name)
    assert with_revision("owner/encoder", "v1") == "owner/encoder@v1"
    assert with_revision("owner/encoder@v1", "v1") == "owner/encoder@v1"
    for name in ("minibert", str(tmp_path), "owner/encoder@v2"):
        with pytest.raises(UserError, match="--revision v1 requires the name of a Hub model"):
            with_revision(name, "v1")
