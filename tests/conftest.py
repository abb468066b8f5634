"""Fixtures that several rooms share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Read once, when the library is first imported: no test asks the Hub.
os.environ["HF_HUB_OFFLINE"] = "1"
# As the program does before it imports a library; in this process they are there already.
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

from tests.helpers.commands import LightPrograms
from tests.helpers.hash_encoder import HashEncoder
from tests.helpers.texts import sentences


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests that share a module's fixture on one worker, which then makes it once."""
    for item in items:
        found = item._fixtureinfo.name2fixturedefs.values() if hasattr(item, "_fixtureinfo") else ()
        shared = any(each.scope in ("module", "class") for chain in found for each in chain)
        if shared and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.fixture(scope="session", autouse=True)
def _session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of the session's own: what the user has cached decides no test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLUSTERNS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for this test alone; the folder appears once something is kept."""
    monkeypatch.setenv("CLUSTERNS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def light() -> Iterator[LightPrograms]:
    """Runs commands that are to end before anything heavy is imported."""
    programs = LightPrograms()
    yield programs
    programs.close()


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


@pytest.fixture(scope="session", params=["bert", "roberta", "distilbert", "mpnet", "modernbert"])
def tiny_base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random encoder of each supported family, saved with a tokenizer."""
    from tests.helpers.models import make_tiny_base

    return make_tiny_base(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random BERT, for what does not depend on the family."""
    from tests.helpers.models import make_tiny_base

    return make_tiny_base("bert", tmp_path_factory.mktemp("tiny_bert"))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A file of 200 random sentences."""
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(sentences(200)))
    return path


SMALL_RUN = {"batch_size": 16, "clusters": 4, "start_step": 2, "max_steps": 4, "eval_steps": 2}


@pytest.fixture(scope="session")
def tiny_run(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of four steps: copy it before you change it."""
    from clusterns import train

    folder = tmp_path_factory.mktemp("tiny_run")
    (folder / "corpus.txt").write_text("\n".join(sentences(200)))
    run = train(
        folder / "corpus.txt", folder / "run", base=tiny_bert, settings=SMALL_RUN, quiet=True
    )
    return run.path


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
