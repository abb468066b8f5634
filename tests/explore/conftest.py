from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterns.explore.explorer import Scene
from clusterns.explore.lens import Lens
from clusterns.explore.server import listen, server_of
from clusterns.explore.topics import find_topics
from clusterns.vectors.index import Index
from clusterns.vectors.models import load_model
from tests.helpers.texts import NASTY, subject_texts


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return [*subject_texts(), *NASTY]


@pytest.fixture(scope="session")
def lenses(
    tiny_bert: Path, texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> list[Lens]:
    """Two models over the same sentences."""
    made = []
    for pooling in ("mean", "max"):
        model = load_model(str(tiny_bert), pooling, device="cpu")
        folder = tmp_path_factory.mktemp("index") / pooling
        index = Index.build(folder, model, texts, model_name=pooling, progress=False)
        made.append(Lens(f"{pooling} pooling", model, index))
    return made


@pytest.fixture(scope="session")
def scene(lenses: list[Lens], texts: list[str]) -> Scene:
    topics = find_topics(lenses[0].vectors, texts, 5, progress=False)
    return Scene("<b>nasty</b>.txt", lenses, topics)


@pytest.fixture(scope="session")
def address(scene: Scene) -> Iterator[str]:
    """The scene's server, at work."""
    where = listen(0)
    server = server_of(scene)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [where]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{where.getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=20)
    where.close()
