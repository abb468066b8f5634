from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.data.docstring_files import SourceFile, read_source
from clusterns.data.docstrings import docstring_corpus, installed_folders
from clusterns.errors import UserError

FILES = {
    "pkg/__init__.py": '"""A package for small tests."""\nfrom ._impl import Box, sort\n',
    "pkg/_impl.py": '''
def sort(a):
    """Sort the items of a list. It works in place."""

def _helper():
    """Help with the sorting here."""

class Box:
    """Hold a thing for later use."""

    def open(self):
        """Open the box with care."""

        def inner():
            """Nobody can call this one."""
''',
    "pkg/sub/__init__.py": "",
    "pkg/sub/extra.py": 'def again():\n    """Sort the items of a list."""\n',
    "pkg/sub/__init__.pyi": "from .extra import again as again\n",
    "pkg/tests/test_it.py": '"""Tests have no documentation at all."""',
    "pkg/_vendor/copy.py": '"""A copy of another package here."""',
    "pkg/broken.py": "def (:",
    "pkg/latin.py": '"""The caf\xe9 is not UTF-8."""\n',
    "pkg/odd-name.py": '"""This can not be imported."""',
    "single.py": '"""A module of one file."""\n',
}


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("latin1"))
    return tmp_path


def read(source: str, tmp_path: Path, module: str = "pkg._docs") -> list[tuple[str, str, str]]:
    path = tmp_path / "source.py"
    path.write_text(source)
    result = read_source(SourceFile(path, module))
    assert result is not None
    return [(item.module, item.name, item.sentences[0]) for item in result[1]]


def test_objects_have_their_public_names(installed: Path) -> None:
    docs = docstring_corpus([installed], processes=1, progress=False)
    objects = docs.objects.to_pandas().set_index("name")
    assert sorted(objects.index) == "pkg pkg.Box pkg.Box.open pkg.sort pkg.sub.again single".split()
    sort = objects.loc["pkg.sort"]
    assert (sort.kind, sort.package, sort.subpackage) == ("function", "pkg", "pkg")
    assert sort.summary == "Sort the items of a list."
    assert list(sort.rest) == ["It works in place."]
    assert list(objects.kind[["pkg", "pkg.Box", "pkg.Box.open"]]) == ["module", "class", "method"]
    assert objects.subpackage["pkg.sub.again"] == "pkg.sub"


def test_sentences_are_distinct_and_named(installed: Path) -> None:
    docs = docstring_corpus([installed], held_out=0, processes=1, progress=False)
    rows = {row["text"]: row["name"] for row in docs.corpus.dataset}
    assert len(rows) == len(docs.corpus.dataset) == docs.report.sentences == 7
    assert rows["Sort the items of a list."] == "pkg.sort"
    assert rows["Help with the sorting here."] == "pkg._impl._helper"
    documents: dict[int, set[str]] = {}
    for row in docs.corpus.dataset:
        documents.setdefault(row["document"], set()).add(row["name"])
    assert sorted(documents) == list(range(len(set(rows.values()))))
    assert all(len(names) == 1 for names in documents.values())
    assert docs.corpus.report.duplicates == 1
    assert (docs.report.packages, docs.report.objects) == (2, 6)
    assert (docs.report.files, docs.report.skipped) == (8, 2)
    assert "2 packages, 8 files (2 could not be parsed)" in docs.report.summary()


def test_what_is_held_out_is_not_trained_on(installed: Path) -> None:
    docs = docstring_corpus([installed], held_out=0.5, processes=1, progress=False)
    apart = docs.objects.filter(lambda row: row["held_out"])
    assert 0 < len(apart) == docs.report.held_out < 6
    trained = set(docs.corpus.dataset["text"])
    for row in apart:
        assert trained.isdisjoint([row["summary"], *row["rest"]])
    everything = docstring_corpus([installed], held_out=1, processes=1, progress=False)
    assert set(everything.corpus.dataset["name"]) == {"pkg._impl._helper"}


def test_the_number_of_processes_changes_nothing(installed: Path) -> None:
    one, two = (docstring_corpus([installed], processes=n, progress=False) for n in (1, 2))
    assert one.objects.to_list() == two.objects.to_list()
    assert (one.corpus.fingerprint, one.report) == (two.corpus.fingerprint, two.report)


def test_what_is_read_is_not_run(tmp_path: Path) -> None:
    source = """raise SystemExit("run")
def f():
    'This one is only read.'
class Conv:
    __doc__ = ("Convolve an input signal." + more + "The end of it.")
    x = 1
"""
    assert read(source, tmp_path) == [
        ("pkg._docs", "f", "This one is only read."),
        ("pkg._docs", "Conv", "Convolve an input signal."),
    ]


def test_docstrings_attached_to_compiled_objects(tmp_path: Path) -> None:
    source = '''
add_newdoc("pkg._core.multi", "zeros", """Return an array of zeros.""")
add_newdoc("airy", """Compute the Airy functions.""")
add_docstr(pkg.linalg.svd, r"""svd(a) -> Tensor

Decompose a matrix into three.""".format(**common))
inv = _add_docstr(_C.inv, "Invert a square matrix.")
add_newdoc("pkg", "Box", ("size", """Nothing for us in here."""))
other("pkg", """Not a docstring at all.""")
'''
    assert read(source, tmp_path) == [
        ("pkg._core.multi", "zeros", "Return an array of zeros."),
        ("pkg", "airy", "Compute the Airy functions."),
        ("pkg.linalg", "svd", "Decompose a matrix into three."),
        ("pkg._docs", "inv", "Invert a square matrix."),
    ]


def test_a_folder_without_docstrings(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no docstrings in"):
        docstring_corpus([tmp_path], processes=1, progress=False)


def test_a_real_package() -> None:
    import numpy as np

    folder = Path(np.__file__).parent.parent
    assert folder in installed_folders()
    core = "_core" if (folder / "numpy" / "_core" / "fromnumeric.py").is_file() else "core"  # 1.26
    # One package of the many: the rest of the folder is what takes the time.
    files = [
        SourceFile(folder / "numpy" / "__init__.py", "numpy"),
        SourceFile(folder / "numpy" / core / "fromnumeric.py", f"numpy.{core}.fromnumeric"),
    ]
    found = {item.name: item for file in files for item in (read_source(file) or (0, []))[1]}
    assert found["sort"].sentences[0] == "Return a sorted copy of an array."
    assert len(found) > 30
