"""The identity of a trial: the settings, base and text that determine its numbers, and the name made from them.

Only settings that differ from frozen defaults are included, under frozen names (historical.yaml). So recorded trials
keep their names when a default of the recipe changes, or a key is renamed or added.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from clusterns.encoder.locate import MINIBERT, identity_of_base
from clusterns.errors import UserError
from clusterns.evaluation.custom import split_columns
from clusterns.files import cache_folder, read_json, write_json
from clusterns.lab.experiment import WIKIPEDIA
from clusterns.methods.recipe import RENAMED_KEYS, RENAMED_VALUES, current_names, renamed
from clusterns.methods.registry import get_method, get_part, method_names, part_names
from clusterns.training.folder import RESUME_IGNORES
from clusterns.training.recipe import Recipe

WIKIPEDIA_FILE = Path("wiki") / "enwiki_1m.txt.xz"
# Digest of the text of this project's records, so that they can be read without the text.
WIKIPEDIA_DIGEST = "215e7f36e0666a45b18e5daf68ea75c2"
WORTH_CACHING = 1 << 20  # bytes; smaller files are read again
Identity = dict[str, Any]


@cache
def _historical() -> dict[str, dict[str, Any]]:
    text = (files("clusterns.lab") / "historical.yaml").read_text("utf-8")
    return dict(yaml.safe_load(text))


def identity_of(recipe: Recipe, corpus: str) -> Identity:
    """The identity of the trial that trains ``recipe`` on ``corpus``."""
    settings = recipe.model_dump(mode="json", exclude=recipe.unused_keys() | RESUME_IGNORES)
    base = _base_identity(str(settings.pop("base") or MINIBERT))
    for key in settings.keys() & set(recipe.all_path_keys()):
        settings[key] = settings[key] and content_identity(str(settings[key]))
    return _identity(settings, base, content_identity(corpus), revisions_of(recipe))


def recorded_identity(result: Mapping[str, Any]) -> Identity | None:
    """The identity of a recorded trial; None for an early one with too little recorded."""
    if "identity" in result:
        return dict(result["identity"])
    resolved, base = result.get("resolved"), result.get("base")
    if not resolved or not base or result.get("corpus") not in (WIKIPEDIA_FILE.name, WIKIPEDIA):
        return None
    settings = {k: v for k, v in resolved.items() if k not in RESUME_IGNORES | {"base"}}
    return _identity(settings, _digest_of_base(base), WIKIPEDIA_DIGEST, {})


def trial_name(identity: Identity) -> str:
    """The name of a trial, which is also that of its folder."""
    text, settings = json.dumps(identity, sort_keys=True), identity["settings"]
    seed = settings.get("seed", _historical()["defaults"]["seed"])
    return (
        f"{settings['method']}-{seed}-{hashlib.blake2b(text.encode(), digest_size=5).hexdigest()}"
    )


def _identity(
    settings: Mapping[str, Any], base: str, corpus: str, revisions: Mapping[str, int]
) -> Identity:
    """A setting without a frozen default is always included, so its default may change."""
    known = _historical()
    frozen_names = _inverted(RENAMED_KEYS)
    own: dict[str, Any] = {}
    for key, value in settings.items():
        name = frozen_names.get(key, key)
        frozen_values = _inverted(RENAMED_VALUES.get(key, {}))
        value = renamed(value, frozen_values | known["hashed_values"].get(key, {}))
        if name not in known["defaults"] or _plain(value) != _plain(known["defaults"][name]):
            own[name] = _plain(value)
    return {
        "settings": own,
        "base": base,
        "corpus": corpus,
        **({"revisions": dict(revisions)} if revisions else {}),
    }


def _inverted(names: Mapping[str, str]) -> dict[str, str]:
    return {new: old for old, new in names.items()}


def _plain(value: Any) -> Any:
    """The value as in JSON, whether a key is typed as an integer or as a float."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def revisions_of(recipe: Recipe) -> dict[str, int]:
    """The revisions above 1 of a recipe's method and parts."""
    chosen = get_method(recipe.method)
    found = {f"method {chosen.name}": chosen.revision}
    found |= _part_revisions((*chosen.parts, *recipe.parts), recipe.model_dump())
    return {name: revision for name, revision in found.items() if revision > 1}


def _part_revisions(names: Sequence[str], settings: Mapping[str, Any]) -> dict[str, int]:
    frozen = _inverted(RENAMED_VALUES["parts"])
    return {
        f"part {frozen.get(name, name)}": get_part(name).revision_for(settings)
        for name in dict.fromkeys(names)
    }


def superseded(result: Mapping[str, Any]) -> list[str]:
    """The method and parts of a finished trial with a newer revision now: ``part clustering (revision 1, now 2)``."""
    settings = current_names({**result.get("settings", {}), **(result.get("resolved") or {})})
    method, added = str(settings.get("method", "")), settings.get("parts") or []
    if method not in method_names():
        return []
    names = [*get_method(method).parts, *([added] if isinstance(added, str) else added)]
    names = [name for name in names if name in part_names()]
    now = {f"method {method}": get_method(method).revision}
    now |= _part_revisions(names, settings)
    then = result.get("identity", {}).get("revisions", {})
    return [
        f"{name} (revision {then.get(name, 1)}, now {revision})"
        for name, revision in now.items()
        if then.get(name, 1) != revision
    ]


@cache
def _base_identity(name: str) -> str:
    return _digest_of_base(identity_of_base(name))


def _digest_of_base(identity: str) -> str:
    """A local base is identified by the digest of its weights, not by the folder's name."""
    name, _, digest = identity.rpartition(" ")
    is_digest = bool(name) and len(digest) == 16 and set(digest) <= set("0123456789abcdef")
    return digest if is_digest else identity


def content_identity(place: str) -> str:
    """Identifies a text: the digest of a file or of all files of a folder, else the name."""
    if place == WIKIPEDIA:
        return WIKIPEDIA_DIGEST
    path, columns = split_columns(Path(place).expanduser())
    is_word = (
        Path(place).name == place and not path.suffix
    )  # such as stsb, even if a file has this name
    if is_word or not path.exists():
        return place
    try:
        if path.is_file():
            found = _file_digest(path)
        else:
            inside = sorted(each for each in path.rglob("*") if each.is_file())
            digests = [
                f"{each.relative_to(path).as_posix()} {_file_digest(each)}" for each in inside
            ]
            found = hashlib.blake2b("\n".join(digests).encode(), digest_size=16).hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {error.filename or path}: {error.strerror}.") from error
    return f"{found} {columns}" if columns else found


def _file_digest(file: Path) -> str:
    """Digest of a file; cached for large files, keyed by size and mtime."""
    state = file.stat()
    if state.st_size < WORTH_CACHING:
        return _digest(file)
    key = hashlib.blake2b(str(file.resolve()).encode(), digest_size=16).hexdigest()
    cached = cache_folder("digests") / f"{key}.json"
    now = [state.st_size, state.st_mtime_ns]
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = read_json(cached)
        if known["state"] == now:
            return str(known["digest"])
    found = _digest(file)
    with suppress(OSError, UserError):  # an unwritable cache is not an error
        write_json(cached, {"state": now, "digest": found})
    return found


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
