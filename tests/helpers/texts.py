"""Made-up text that needs no file."""

from __future__ import annotations

import random
from pathlib import Path

WORDS = "river town music cell planet engine king harbour winter protein market song law".split()
SUBJECTS = {
    "sea": "harbour ship sailor wave anchor coast tide island".split(),
    "law": "court judge verdict appeal lawyer witness statute trial".split(),
    "cell": "protein membrane enzyme nucleus tissue bacteria genome cell".split(),
}
NASTY = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'> and <b>bold</b> &amp; &lt;i&gt;",
    '"><svg onload="window.pwned=1">',
    "javascript:alert(1) ${7*7} {{7*7}}",
    "مرحبا بالعالم هذا نص من اليمين إلى اليسار",
    "שלום \u202egnorw eb dluow siht\u202c עולם",
    "emoji 👩‍👩‍👧‍👦 🏳️‍🌈 🇨🇭 👍🏽 in a family",
    "日本語の文章には空白がありません",
    "हिन्दी में एक वाक्य है",
    "control \x07 bell and \x1b[31m red",
    "long " * 2000,
    "x" * 10_000,
    "Zalgo t̷̢̛̖e̶̝͒x̵͇̌t̶̰̔",
]


def sentences(count: int, seed: int = 0, words: tuple[int, int] = (6, 12)) -> list[str]:
    """Random sentences, nearly all of them different."""
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randint(*words))) for _ in range(count)]


def subject_texts(count: int = 120) -> list[str]:
    """Sentences about three subjects, in turn."""
    generator = random.Random(0)
    words = list(SUBJECTS.values())
    return [" ".join(generator.choices(words[i % 3], k=6)) + f" {i}" for i in range(count)]


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, and the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
