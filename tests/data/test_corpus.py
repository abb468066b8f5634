from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tracemalloc
from dataclasses import asdict
from pathlib import Path

import pytest

from clusterns.data import corpus as module
from clusterns.data.corpus import Corpus, CorpusReport, prepare_corpus
from clusterns.errors import UserError

TEXT = "The first line.\nAnother one here\n\nword\nThe  first line.\n12 34\nAnother one here\n"


@pytest.fixture(autouse=True)
def folder(cache: Path) -> Path:
    return cache / "corpus"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT)
    return path


def prepared(*sources: Path, **settings: object) -> Corpus:
    return prepare_corpus([str(source) for source in sources], progress=False, **settings)  # type: ignore[arg-type]


def test_text_to_rows_with_a_report(text: Path) -> None:
    corpus = prepared(text)
    assert corpus.dataset["text"][:] == ["The first line.", "Another one here"]
    assert corpus.report == CorpusReport(
        read=7, empty=1, not_text=1, too_short=1, too_long=0, duplicates=2, kept=2
    )
    assert "7 lines read: 2 kept" in corpus.report.summary()


def test_settings(text: Path) -> None:
    assert prepared(text, min_words=1).report.kept == 3
    assert prepared(text, max_chars=15).report.too_long == 2
    split = text.with_name("paragraphs.txt")
    split.write_text("It rained a lot. We stayed in.\n\nWe stayed in.\n")
    report = prepared(split, split_sentences=True).report
    assert (report.read, report.empty, report.duplicates, report.kept) == (4, 1, 1, 2)


def test_wrapped_text_is_split_as_a_whole(tmp_path: Path) -> None:
    """Also where a paragraph lies in two of the blocks in which a file is read."""
    line = "This is line {} of some text that was wrapped by hand at some column"
    path = tmp_path / "manual.txt"
    lines = [line.format(f"{number:06d}") for number in range(30_000)]
    paragraphs = ["\n".join([*lines[i : i + 9], "and ends here."]) for i in range(0, 30_000, 9)]
    path.write_text("\n\n".join(paragraphs))
    corpus = prepared(path, split_sentences=True, document="paragraph")
    assert corpus.dataset["text"][:] == [" ".join(part.split("\n")) for part in paragraphs]
    assert corpus.dataset["document"][:] == [*range(len(paragraphs))]
    # Without sentences, and where each line is a document, lines stay lines.
    assert prepared(path).dataset["text"][1] == lines[1]
    assert prepared(path, split_sentences=True, document="line").dataset["text"][1] == lines[1]


def test_only_joined_lines_change_the_fingerprint(text: Path) -> None:
    """That of other text is the one of runs begun long ago."""
    settings = {"column": None, "split_sentences": True, "min_words": 2, "max_chars": 2000}
    for content in (TEXT, "\n".join(["a line that is as wide as all of the others"] * 3)):
        text.write_text(content)
        digest = hashlib.sha256(b".txt .txt " + content.encode()).hexdigest()
        known = hashlib.sha256(json.dumps([1, settings, [digest]]).encode()).hexdigest()[:32]
        assert (prepared(text, split_sentences=True).fingerprint == known) == (content == TEXT)


def test_several_sources_are_one_corpus(text: Path, tmp_path: Path) -> None:
    table = tmp_path / "more.jsonl.gz"
    table.write_bytes(gzip.compress(b'{"text": "The first line."}\n{"text": "A third\\nline"}\n'))
    corpus = prepared(text, table)
    assert corpus.dataset["text"][:] == ["The first line.", "Another one here", "A third line"]
    assert corpus.report.duplicates == 3


def test_the_cache_is_used_and_still_reports(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepared(text)
    monkeypatch.setattr(module, "_write", None)  # reading again would fail
    again = prepared(text)
    assert again.report == first.report
    assert again.fingerprint == first.fingerprint
    assert again.dataset.cache_files[0]["filename"].endswith(f"{first.fingerprint}.arrow")


def test_an_edited_file_of_equal_size_and_time_is_read_again(text: Path) -> None:
    before, old = prepared(text), text.stat()
    text.write_text(TEXT.replace("first", "zirst"))
    os.utime(text, ns=(old.st_atime_ns, old.st_mtime_ns))
    after = prepared(text)
    assert after.fingerprint != prepared(text, min_words=1).fingerprint
    assert (text.stat().st_size, text.stat().st_mtime_ns) == (old.st_size, old.st_mtime_ns)
    assert after.fingerprint != before.fingerprint
    assert after.dataset[0]["text"] == "The zirst line."


def test_half_a_cache_entry_is_made_again(text: Path, folder: Path) -> None:
    first = prepared(text)
    arrow = folder / f"{first.fingerprint}.arrow"
    for damage in (b"", arrow.read_bytes()[:-60], b"not arrow at all"):
        arrow.write_bytes(damage)
        assert prepared(text).dataset["text"][:] == ["The first line.", "Another one here"]
    (folder / f"{first.fingerprint}.json").write_text("{")
    assert prepared(text).report == first.report


def test_a_file_that_changes_while_it_is_read(
    text: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = module.clean

    def edit_then_clean(*args: object, **settings: object) -> object:
        text.write_text("Something else altogether\n")
        return clean(*args, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "clean", edit_then_clean)
    with pytest.raises(UserError, match="changed while it was being read"):
        prepared(text)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"\n12\n\n", "no usable sentence in .*2 empty, 1 not text"),
        ("a.csv", b"text\n", "no usable sentence in .*a.csv: 0 lines read"),
        ("a.txt", b"Good line here\n" * 200_000 + b"bad \xff line", r"\(line 200,001\)"),
        ("a.txt.gz", gzip.compress(b"Good line here\n" * 9999)[:-20], "truncated or damaged"),
        ("a.jsonl", b'{"text": "Good line here"}\n{"text"', "line 2 is not JSON"),
    ],
)
def test_bad_input_leaves_nothing_behind(
    tmp_path: Path, folder: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        prepared(path)
    assert list(folder.iterdir()) == []


def test_a_cache_that_cannot_be_written(text: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot write .*Not a directory"):
        prepared(text, cache=tmp_path / "file" / "cache")


def run_python(code: str, folder: Path) -> subprocess.Popen[str]:
    path = folder / "large.txt"
    path.write_text("".join(f"This is line number {number}\n" for number in range(50_000)))
    command = [sys.executable, "-c", code, str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_full_disk(tmp_path: Path, folder: Path) -> None:
    # A limit on the size of files is a disk that is full, as far as writing goes.
    code = (
        "import resource, signal, sys\n"
        "from clusterns.data.corpus import prepare_corpus\n"
        "from clusterns.errors import UserError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n    prepare_corpus([sys.argv[1]])\n"
        "except UserError as error:\n    print(error)\n"
    )
    output, _ = run_python(code, tmp_path).communicate()
    assert output.startswith("cannot write ")
    assert "File too large" in output
    assert list(folder.iterdir()) == []


def test_two_processes_at_once(tmp_path: Path, folder: Path) -> None:
    code = (
        "import json, sys\n"
        "from clusterns.data.corpus import prepare_corpus\n"
        "corpus = prepare_corpus([sys.argv[1]])\n"
        "print(json.dumps([corpus.report.kept, corpus.dataset[49_999]['text']]))\n"
    )
    processes = [run_python(code, tmp_path) for _ in range(2)]
    outputs = [json.loads(process.communicate()[0]) for process in processes]
    assert outputs == [[50_000, "This is line number 49999"]] * 2
    assert sorted(file.suffix for file in folder.iterdir()) == [".arrow", ".json"]


def test_ragged_lines_are_counted_and_the_columns_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a"
    path.write_text(
        "18\tHow to do it ?\t\n2\tWhat is it\t\n\n3\tbroken\tin two\tand three\n4\tIt is"
    )
    corpus = prepare_corpus([str(path)], column="2")
    assert corpus.dataset["text"][:] == ["How to do it ?", "What is it", "It is"]
    assert corpus.report == CorpusReport(read=5, empty=1, ragged=1, kept=3)
    assert "dropped 1 with too many or too few cells, 1 empty" in corpus.report.summary()
    assert f"{path}: no header; text is column 2." in capsys.readouterr().err
    # Also where it is in the cache already.
    assert prepare_corpus([str(path)], column="2").report == corpus.report
    assert "text is column 2" in capsys.readouterr().err


def test_memory_does_not_grow_with_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = (f"{number},This is line number {number} {'x' * 1000}\n" for number in range(20_000))
    path.write_text("id,text\n" + "".join(rows))
    tracemalloc.start()
    report = prepared(path).report
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.kept == 20_000
    assert peak < path.stat().st_size / 2


def test_counts_of_real_text_add_up(shared_data: Path) -> None:
    wiki = shared_data / "wiki" / "wiki1m_head.txt"
    lines = prepared(wiki)
    titles = prepared(shared_data / "short-text" / "stackoverflow_true_text", column="2")
    for corpus, first in ((lines, "YMCA in South Australia"), (titles, "How do I fill a DataSet")):
        counts = asdict(corpus.report)
        assert counts.pop("read") == sum(counts.values())
        assert corpus.dataset[0]["text"].startswith(first)
        assert corpus.report.kept == len(set(corpus.dataset["text"])) > 0.94 * corpus.report.read
    assert lines.report.read == len(wiki.read_text("utf-8").splitlines()) == 11_914
    assert (titles.report.read, titles.report.ragged) == (20_000, 1)
