"""Push to a stand-in for the Hub, which keeps the uploaded files in a folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError
from sentence_transformers import SentenceTransformer

from clusterns import push
from clusterns.errors import UserError
from tests.helpers.commands import run_cli


class Hub:
    """Repositories by name; ``refuses`` is the error that every request meets."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.private, self.refuses = folder, None, None

    def create_repo(self, repo_id: str, private: bool | None, exist_ok: bool, **_: Any) -> Any:
        if self.refuses is not None:
            raise self.refuses
        if (self.folder / repo_id).exists() and not exist_ok:
            raise refusal(409)
        self.private = private
        return SimpleNamespace(repo_id=repo_id)

    def upload_folder(self, repo_id: str, folder_path: str, **_: Any) -> Any:
        shutil.copytree(folder_path, self.folder / repo_id, dirs_exist_ok=True)
        return SimpleNamespace(commit_url=f"https://hub/{repo_id}/commit/1")


def refusal(status: int) -> HfHubHTTPError:
    response: Any = SimpleNamespace(status_code=status, headers={}, request=None)
    return HfHubHTTPError(f"{status} of the Hub", response=response)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub(tmp_path / "hub")
    monkeypatch.setattr(HfApi, "create_repo", lambda self, **given: hub.create_repo(**given))
    monkeypatch.setattr(HfApi, "upload_folder", lambda self, **given: hub.upload_folder(**given))
    return hub


def test_a_pushed_run_opens_and_its_card_names_it(hub: Hub, tiny_run: Path) -> None:
    url = push(tiny_run, "owner/name", private=True, quiet=True)
    assert (url, hub.private) == ("https://hub/owner/name/commit/1", True)
    pushed, text = hub.folder / "owner" / "name", "a river in the town"
    local = SentenceTransformer(str(tiny_run / "model")).encode(text)
    assert (SentenceTransformer(str(pushed)).encode(text) == local).all()
    card = (pushed / "README.md").read_text("utf-8")
    assert 'SentenceTransformer("owner/name")' in card
    assert str(tiny_run) not in card
    with pytest.raises(UserError, match="owner/name already exists. Add --overwrite"):
        push(tiny_run, "owner/name", quiet=True)
    done = run_cli("push", tiny_run, "owner/name", "--overwrite")
    assert (done.code, "https://hub/owner/name/commit/1" in done.out) == (0, True)


def test_what_cannot_be_pushed_is_refused(hub: Hub, tiny_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="name is not a name on the Hub"):
        push(tiny_run, "name")
    with pytest.raises(UserError, match="is not a run folder"):
        push(tmp_path / "nothing", "owner/name")
    for error, message in (
        (refusal(401), "the Hub refused owner/name: .* Log in with `hf auth login`"),
        (ConnectionError("no route"), "cannot upload .*: no route"),
    ):
        hub.refuses = error
        with pytest.raises(UserError, match=message):
            push(tiny_run, "owner/name", quiet=True)
    assert not hub.folder.exists()
