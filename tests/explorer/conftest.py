from __future__ import annotations

import threading
import time
from dataclasses import replace

import pyarrow as pa
import pytest

from clusterns.encoder.load import load_model
from clusterns.explorer.corpus import EmbeddedCorpus
from clusterns.explorer.explorer import Explorer
from clusterns.explorer.server import listen, make_server
from clusterns.explorer.texts import Texts
from clusterns.explorer.topics import find_topics
from clusterns.vectors.index import Index
from tests.helpers.texts import NASTY, subject_texts


@pytest.fixture(scope="session")
def texts():
    return [*subject_texts(), *NASTY]


@pytest.fixture(scope="session")
def corpora(tiny_bert, texts, tmp_path_factory):
    """Two models over the same sentences, which have a column."""
    made = []
    for pooling in ("mean", "max"):
        model = load_model(str(tiny_bert), pooling, device="cpu")
        folder = tmp_path_factory.mktemp("index") / pooling
        index = Index.build(folder, model, texts, model_name=pooling, progress=False)
        kinds = pa.table({"kind": ["odd" if row % 2 else "even" for row in range(len(texts))]})
        rows = replace(Texts.of_index(index), table=kinds)
        made.append(EmbeddedCorpus(f"{pooling} pooling", model, index, rows))
    return made


@pytest.fixture(scope="session")
def explorer(corpora, texts):
    topics = find_topics(corpora[0].vectors, texts, 5, progress=False)
    return Explorer("<b>nasty</b>.txt", corpora, topics)


@pytest.fixture(scope="session")
def address(explorer):
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
