"""SentEval's archive from a stand-in for the Hub: downloaded, refused, unpacked whole or not at all."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from typer.testing import CliRunner

from clusterns.cli import app
from clusterns.errors import UserError
from clusterns.evaluation.catalog import VARIABLE, EvaluationData
from clusterns.evaluation.fetch import fetch_senteval

MPQA = {"MPQA/mpqa.pos": "good\n" * 3311, "MPQA/mpqa.neg": "bad\n" * 7295}


def tar_of(files: dict[str, str], link: str | None = None) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
        if link:
            member = tarfile.TarInfo("MPQA/link")
            member.type, member.linkname = tarfile.SYMTYPE, link
            tar.addfile(member)
    return content.getvalue()


ARCHIVE = tar_of(MPQA)


class Hub:
    """Serves ``content`` as the archive, and knows one branch."""

    def __init__(self) -> None:
        self.content: bytes | None = ARCHIVE
        self.asked: list[tuple[Any, ...]] = []

    def dataset_info(self, repo: str, revision: str) -> SimpleNamespace:
        if revision != "main":
            raise ConnectionError(f"404: {repo} has no revision {revision}")
        return SimpleNamespace(sha="c0ffee")

    def download(
        self, repo: str, file: str, *, repo_type: str, revision: str, local_dir: str
    ) -> str:
        self.asked.append((repo, file, repo_type, revision))
        if self.content is None:
            raise ConnectionError("the connection\nwas cut")
        path = Path(local_dir) / file
        path.write_bytes(self.content)
        return str(path)


@pytest.fixture
def hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    monkeypatch.delenv(VARIABLE, raising=False)
    hub = Hub()
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: hub)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hub.download)
    return hub


def test_fetched_sets_are_found_without_being_named(
    hub: Hub, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = fetch_senteval()
    assert found.sets == ["MPQA"]
    assert "STS12 is not in the archive." in found.problems
    assert hub.asked == [
        ("princeton-nlp/datasets-for-simcse", "senteval.tar", "dataset", "c0ffee")
    ]  # fmt: skip
    assert "at c0ffee (pin it with --revision)" in capsys.readouterr().err
    assert EvaluationData().find("MPQA").rows == (10606,)
    assert not list(cache.rglob("*.tar"))  # it can be had again


def test_what_is_there_is_kept_until_it_is_to_be_overwritten(hub: Hub) -> None:
    folder = fetch_senteval().folder
    hub.content = tar_of(MPQA | {"README": "new"})
    assert fetch_senteval().sets == ["MPQA"]
    assert not (folder / "README").exists()
    hub.content = b"broken"
    with pytest.raises(UserError, match="cannot be unpacked"):
        fetch_senteval(overwrite=True)
    assert (folder / "MPQA/mpqa.pos").exists()
    hub.content = tar_of(MPQA | {"README": "new"})
    fetch_senteval(overwrite=True)
    assert (folder / "README").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot download senteval.tar .* at main: the connection was cut"),
        (b"not a tar file at all" * 100, "cannot be unpacked"),
        (ARCHIVE[:20_000], "cannot be unpacked"),
        (tar_of({"../escaped": "x"} | MPQA), "outside the destination"),
        (tar_of({"a/../../escaped": "x"} | MPQA), "outside the destination"),
        (tar_of(MPQA, link="/etc/passwd"), "link to an absolute path"),
        (tar_of(MPQA, link="../../escaped"), "outside the destination"),
        (tar_of({"README": "empty"}), "any of SentEval's sets"),
    ],
)
def test_bad_archives_are_refused_whole(
    hub: Hub, cache: Path, content: bytes | None, says: str
) -> None:
    hub.content = content
    with pytest.raises(UserError, match=says):
        fetch_senteval()
    assert not (cache / "data/senteval").exists()
    for left in ("*escaped*", "*.partial", "*.tar"):
        assert not list(cache.rglob(left))


def test_the_command(hub: Hub, cache: Path) -> None:
    shown = CliRunner().invoke(app, ["data", "fetch"])
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == f"In {cache / 'data/senteval'}: MPQA\n"
    bad = CliRunner().invoke(app, ["data", "fetch", "--overwrite", "--revision", "v9"])
    assert isinstance(bad.exception, UserError)
    assert "no revision v9" in str(bad.exception)
