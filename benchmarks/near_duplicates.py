"""Near-duplicates: precision and recall of the default of `clusterns similar`, on a labeled set.

    CLUSTERNS_DATA=... python -m benchmarks near_duplicates

The set is built from installed text: the first sentences of docstrings, and the cities of the time zones.
Duplicates are edits that change nothing (case, punctuation, an article, an inflection, a typing error, a harmless
word); other pairs differ in what they are about (a number, a name, a negation, a word, an opposite, the order of
two names). Half and half; the threshold for shared words was chosen on the odd pairs, and these are the even ones.
"""

from __future__ import annotations

import ast
import os
import random
import re
import zoneinfo
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import description
from clusterns.encoder.load import load_model
from clusterns.explorer.keywords import STOP_WORDS
from clusterns.explorer.same_words import Words, share_words
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import unit

PACKAGES = ("numpy", "scipy", "sklearn", "pandas")
FILES, SENTENCES, PER_EDIT = 150, 3000, 250  # files of a package, sentences, pairs of a kind
THRESHOLDS = (0.9, 0.95)
HARMLESS = ("also", "simply", "just", "now", "then")
OPPOSITES = ("first last", "maximum minimum", "left right", "rows columns", "row column", "true false", "input output",
             "lower upper", "before after", "encode decode", "start end", "largest smallest", "read write")  # fmt: skip
OTHER = {word: other for pair in OPPOSITES for word, other in (pair.split(), pair.split()[::-1])}
Edit = Callable[[str, random.Random], str | None]


class Pair(NamedTuple):
    """Two texts, whether they are duplicates, and how the one was made from the other."""

    first: str
    second: str
    same: bool
    kind: str


def sentences() -> list[str]:
    """Distinct first sentences of docstrings, of 5 to 30 words."""
    found: dict[str, None] = {}
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        files = sorted(Path(spec.origin).parent.rglob("*.py"))
        for file in random.Random(0).sample(files, min(FILES, len(files))):
            found |= dict.fromkeys(_first_sentences(file))
    return random.Random(0).sample(sorted(found), min(SENTENCES, len(found)))


def _first_sentences(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_text("utf-8"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            text = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
            text = re.split(r"(?<=[a-z]\.)\s", text)[0]
            if (
                5 <= len(text.split()) <= 30
                and text.isascii()
                and not re.search(r"[`:=_{}\\|]", text)
            ):
                yield text


def replaced(text: str, old: str, new: str) -> str:
    return re.sub(rf"\b{re.escape(old)}\b", new, text, count=1)


def a_word(text: str, chance: random.Random, pattern: str) -> str | None:
    found = [w for w in re.findall(pattern, text) if w not in STOP_WORDS]
    return chance.choice(found) if found else None


def inflected(text: str, chance: random.Random) -> str | None:
    verb = re.match(r"([A-Z][a-z]{3,})(e?s)?\b", text)
    if verb is None or verb[1].lower() in STOP_WORDS or verb[1].endswith("s"):
        return None
    return text.replace(verb[0], verb[1] if verb[2] else verb[1] + "s", 1)


def typo(text: str, chance: random.Random) -> str | None:
    word = a_word(text, chance, r"\b[a-z]{6,}\b")
    if word is None:
        return None
    at = chance.randrange(1, len(word) - 2)
    return replaced(text, word, word[:at] + word[at + 1] + word[at] + word[at + 2 :])


def other_number(text: str, chance: random.Random) -> str | None:
    number = re.search(r"\d+", text)
    return None if number is None else text.replace(number[0], str(int(number[0]) + 1), 1)


def other_word(words: list[str]) -> Edit:
    def edit(text: str, chance: random.Random) -> str | None:
        word = a_word(text, chance, r"\b[a-z]{4,}\b")
        return None if word is None else replaced(text, word, chance.choice(words))

    return edit


def other_name(names: list[str]) -> Edit:
    def edit(text: str, chance: random.Random) -> str | None:
        found = re.findall(r"(?<=[a-z,] )[A-Z][A-Za-z]+", text)
        name = chance.choice(names)
        return None if not found or found[0] == name else replaced(text, found[0], name)

    return edit


def opposite(text: str, chance: random.Random) -> str | None:
    word = next((w for w in text.split() if w in OTHER), None)
    return None if word is None else replaced(text, word, OTHER[word])


def negated(text: str, chance: random.Random) -> str | None:
    verb = re.search(r"\b(is|are|can|does|should|will)\b(?! not)", text)
    return None if verb is None else text[: verb.end()] + " not" + text[verb.end() :]


def changed(old: str, new: str) -> Edit:
    def edit(text: str, chance: random.Random) -> str | None:
        made = re.sub(old, new, text, count=1)
        return None if made == text else made

    return edit


def pairs() -> list[Pair]:
    """The labeled set, in random order."""
    chance, texts = random.Random(0), sentences()
    words = sorted({w for text in texts for w in re.findall(r"\b[a-z]{4,}\b", text)} - STOP_WORDS)
    names = sorted({w for text in texts for w in re.findall(r"(?<=[a-z,] )[A-Z][A-Za-z]+", text)})
    edits: dict[tuple[str, bool], Edit] = {
        ("case", True): lambda text, _: text.lower() if text.lower() != text else None,
        ("punctuation", True): changed(r"[.,]|$", ""),
        ("article", True): changed(r"\b(the|a|an) ", ""),
        ("inflection", True): inflected,
        ("typing error", True): typo,
        ("harmless word", True): lambda text, c: changed(r" ", f" {c.choice(HARMLESS)} ")(text, c),
        ("number", False): other_number,
        ("name", False): other_name(names),
        ("negation", False): negated,
        ("word", False): other_word(words),
        ("opposite", False): opposite,
    }
    found: list[Pair] = []
    for (kind, same), edit in edits.items():
        chance.shuffle(texts)
        made = ((text, edit(text, chance)) for text in texts)
        some = [
            Pair(text, new, same, kind) for text, new in made if new is not None and new != text
        ]
        found += some[:PER_EDIT]
    cities = sorted(
        {
            zone.split("/")[-1].replace("_", " ")
            for zone in zoneinfo.available_timezones()
            if "/" in zone
        }
    )
    for _ in range(PER_EDIT):
        one, other, third = chance.sample(cities, 3)
        found.append(
            Pair(f"Flights from {one} to {other}", f"Flights from {one} to {third}", False, "city")
        )
        found.append(Pair(f"{one}-{other} flights", f"{other}-{one} flights", False, "order"))
    size = min(sum(one.same for one in found), sum(not one.same for one in found))
    chance.shuffle(found)
    balanced = [[one for one in found if one.same is same][:size] for same in (True, False)]
    return chance.sample([*balanced[0], *balanced[1]], 2 * size)


def run() -> dict[str, Any]:
    """Measure precision and recall for two models."""
    labeled = pairs()
    same = np.array([one.same for one in labeled])
    kinds = np.array([one.kind for one in labeled])
    even = np.arange(len(labeled)) % 2 == 0
    words = np.array([share_words(Words.of(one.first), Words.of(one.second)) for one in labeled])
    folder = Path(os.environ.get("CLUSTERNS_MODELS", ""))
    models = {"minibert": ("minibert", "mean")}
    if (folder / "all-MiniLM-L6-v2").is_dir():
        models["all-MiniLM-L6-v2"] = (str(folder / "all-MiniLM-L6-v2"), None)
    measured: dict[str, Any] = {}
    for name, (place, pooling) in models.items():
        embed = Embedder(load_model(place, pooling, device="cpu"))
        first, second = (unit(embed([one[side] for one in labeled])) for side in (0, 1))
        cosines = (first * second).sum(axis=1)
        rules = {f"cosine {t:g}": cosines >= t for t in THRESHOLDS}
        rules |= {f"cosine {t:g} and words": (cosines >= t) & words for t in THRESHOLDS}
        measured[name] = {
            rule: {
                **_scores(same, chosen, even),
                "odd": _scores(same, chosen, ~even),
                "by_kind": {
                    k: float(chosen[even & (kinds == k)].mean()) for k in sorted({*kinds.tolist()})
                },
            }
            for rule, chosen in rules.items()
        }
    return {
        "pairs": int(even.sum()),
        "duplicate_kinds": sorted({one.kind for one in labeled if one.same}),
        "models": measured,
    }


def _scores(same: Any, chosen: Any, some: Any) -> dict[str, float]:
    right = int((same & chosen & some).sum())
    return {
        "precision": right / max(1, int((chosen & some).sum())),
        "recall": right / int((same & some).sum()),
    }


def markdown(record: dict[str, Any]) -> str:
    """The table."""
    lines = [
        "## Near-duplicates, labeled",
        "",
        description(__doc__),
        "",
        f"| {record['pairs']:,} pairs | near-duplicates are | precision | recall |",
        "|---|---|---:|---:|",
    ]
    for model, rules in record["models"].items():
        for rule, found in rules.items():
            lines.append(f"| {model} | {rule} | {found['precision']:.1%} | {found['recall']:.1%} |")
    rates = record["models"]["minibert"]["cosine 0.9 and words"]["by_kind"]
    same = {kind: rate for kind, rate in rates.items() if kind in record["duplicate_kinds"]}
    shown = [
        ", ".join(f"{kind} {rate:.0%}" for kind, rate in some.items())
        for some in (same, {kind: rate for kind, rate in rates.items() if kind not in same})
    ]
    lines += [
        "",
        f"Taken for near-duplicates by the default, with minibert: of the duplicates {shown[0]}; "
        f"of the other pairs {shown[1]}.",
    ]
    return "\n".join(lines) + "\n"
