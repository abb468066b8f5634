from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterns.encoder.load import load_model
from clusterns.explorer.corpus import EmbeddedCorpus
from clusterns.explorer.explorer import Explorer
from clusterns.explorer.server import listen, make_server
from clusterns.explorer.topics import find_topics
from clusterns.vectors.index import Index
from tests.helpers.texts import NASTY, subject_texts


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return [*subject_texts(), *NASTY]


@pytest.fixture(scope="session")
def corpora(
    tiny_bert: Path, texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> list[EmbeddedCorpus]:
    """Two models over the same sentences."""
    made = []
    for pooling in ("mean", "max"):
        model = load_model(str(tiny_bert), pooling, device="cpu")
        folder = tmp_path_factory.mktemp("index") / pooling
        index = Index.build(folder, model, texts, model_name=pooling, progress=False)
        made.append(EmbeddedCorpus(f"{pooling} pooling", model, index))
    return made


@pytest.fixture(scope="session")
def explorer(corpora: list[EmbeddedCorpus], texts: list[str]) -> Explorer:
    topics = find_topics(corpora[0].vectors, texts, 5, progress=False)
    return Explorer("<b>nasty</b>.txt", corpora, topics)


@pytest.fixture(scope="session")
def address(explorer: Explorer) -> Iterator[str]:
    """The explorer's server, running."""
    where = listen(0)
    server = make_server(explorer)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [where]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{where.getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=20)
    where.close()
