"""Docstrings of the installed Python packages: real English text on every machine."""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from datasets import Dataset

from clusterns.console import bar
from clusterns.data.corpus import Corpus, CorpusReport
from clusterns.data.docstring_files import Documented, SourceFile, read_source
from clusterns.data.public_names import Names, is_public, public_names
from clusterns.errors import UserError

# Tests are not documentation, and vendored packages are copies.
_SKIPPED = {"tests", "test", "conftest", "_vendor", "vendor", "_vendored", "externals"}


@dataclass(frozen=True)
class Docstring:
    """A documented object: ``summary`` is its first sentence, ``rest`` the other sentences."""

    name: str
    kind: str
    package: str
    subpackage: str
    summary: str
    rest: list[str]


@dataclass(frozen=True)
class DocstringReport:
    """Counts; ``skipped`` files cannot be parsed by this Python version.

    ``objects`` counts public objects; docstrings of private ones are training text as well.
    """

    packages: int
    files: int
    skipped: int
    objects: int
    held_out: int
    sentences: int

    def summary(self) -> str:
        """The counts as a sentence."""
        return (
            f"{self.packages:,} packages, {self.files:,} files ({self.skipped:,} could not be "
            f"parsed): {self.objects:,} documented objects, {self.held_out:,} of them held out, "
            f"and {self.sentences:,} distinct sentences to train on."
        )


@dataclass(frozen=True)
class DocstringCorpus:
    """Docstrings for training, evaluation and search.

    ``corpus`` has the columns ``text``, ``name`` and ``document`` (a number for each name), with one
    distinct sentence per row. Sentences of held-out objects are excluded. ``objects`` has a row for
    each public object: ``name``, ``kind``, ``package``, ``subpackage``, ``summary``, ``rest`` (sentences),
    ``held_out``.
    """

    corpus: Corpus
    objects: Dataset
    report: DocstringReport


def docstring_corpus(
    folders: Sequence[Path] | None = None,
    *,
    held_out: float = 0.1,
    processes: int | None = None,
    progress: bool = True,
) -> DocstringCorpus:
    """Read the docstrings of the packages in ``folders`` (default: those of this environment).

    The fraction ``held_out`` of the public objects, chosen by a hash of the name, is excluded from training.
    """
    folders = folders or installed_folders()
    files = [file for folder in folders for file in _source_files(folder)]
    sources = list(_read_all(files, processes or min(os.cpu_count() or 1, 8), progress))
    objects = _name_objects([source for source in sources if source is not None])
    if not objects:
        raise UserError(f"no docstrings in {', '.join(map(str, folders))}.")
    public = [item for item in objects if is_public(item.name)]
    held_out_names = {item.name for item in public if _share(item.name) < held_out}
    corpus = _training_sentences(objects, held_out_names)
    report = DocstringReport(
        packages=len({item.package for item in objects}),
        files=len(files),
        skipped=sources.count(None),
        objects=len(public),
        held_out=len(held_out_names),
        sentences=len(corpus.dataset),
    )
    rows = Dataset.from_list(
        [{**vars(item), "held_out": item.name in held_out_names} for item in public]
    )
    return DocstringCorpus(corpus, rows, report)


def installed_folders() -> list[Path]:
    """The folders where this environment installs packages."""
    paths = sysconfig.get_paths()
    return sorted({Path(paths["purelib"]), Path(paths["platlib"])})


def _source_files(folder: Path) -> Iterator[SourceFile]:
    """Yield the modules in ``folder``, and the stubs that list the public names of a package."""
    for path in sorted([*folder.rglob("*.py"), *folder.rglob("__init__.pyi")]):
        parts = list(path.relative_to(folder).with_suffix("").parts)
        is_test = parts[-1].startswith("test_") or parts[-1].endswith("_test")
        if is_test or not _SKIPPED.isdisjoint(parts):
            continue
        if parts[-1] == "__init__":
            parts.pop()
        if all(part.isidentifier() for part in parts):
            yield SourceFile(path, ".".join(parts))


def _read_all(
    files: list[SourceFile], processes: int, progress: bool
) -> Iterator[tuple[Names, list[Documented]] | None]:
    """Parse all files in order. Garbage collection is off: parsing makes millions of objects but no cycles."""
    shown = partial(bar, desc="Docstrings", total=len(files), unit=" files", shown=progress)
    if processes == 1:
        yield from shown(map(read_source, files))
        return
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(processes, context, initializer=gc.disable) as pool:
        yield from shown(pool.map(read_source, files, chunksize=64))


def _name_objects(sources: list[tuple[Names, list[Documented]]]) -> list[Docstring]:
    """Assign each object its public name; of several objects with one name, keep the first."""
    modules: dict[str, Names] = {}
    for names, _ in sources:
        modules.setdefault(names.module, names).imported.update(names.imported)
    documented = [item for _, items in sources for item in items]
    for item in documented:
        if item.name and item.module in modules:
            modules[item.module].defined.add(item.name.partition(".")[0])
    public = public_names(modules)
    objects: dict[str, Docstring] = {}
    for item in documented:
        name, _, member = item.name.partition(".")
        module, name = public.get((item.module, name), (item.module, name))
        full = ".".join(filter(None, (module, name, member)))
        subpackage = ".".join(module.split(".")[:2])
        summary, *rest = item.sentences
        objects.setdefault(
            full, Docstring(full, item.kind, module.split(".")[0], subpackage, summary, rest)
        )
    return list(objects.values())


def _share(name: str) -> float:
    """Map a name to a number from 0 to 1, deterministically."""
    digest = hashlib.sha256(name.encode()).digest()[:8]
    return int.from_bytes(digest, "big") / 2**64


def _training_sentences(objects: list[Docstring], held_out_names: set[str]) -> Corpus:
    """Collect the distinct sentences, each with the first object that contains it."""
    names: dict[str, str] = {}
    held_out: set[str] = set()
    read = 0
    for item in objects:
        sentences = (item.summary, *item.rest)
        if item.name in held_out_names:
            held_out.update(sentences)
            continue
        read += len(sentences)
        for sentence in sentences:
            names.setdefault(sentence, item.name)
    texts = [text for text in names if text not in held_out]
    of_texts = [names[text] for text in texts]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(of_texts))}
    dataset = Dataset.from_dict(
        {"text": texts, "name": of_texts, "document": [numbers[name] for name in of_texts]}
    )
    report = CorpusReport(read=read, duplicates=read - len(texts), kept=len(texts))
    fingerprint = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]
    return Corpus(dataset, report, fingerprint)
