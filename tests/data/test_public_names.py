from __future__ import annotations

import ast

import pytest

from clusterns.data.public_names import Names, public_names, read_names


def modules(**sources: str) -> dict[str, Names]:
    """Parse modules; the keyword ``pkg__init`` is the package ``pkg``, ``pkg_a`` is ``pkg.a``."""
    parsed = {}
    for key, source in sources.items():
        is_package = key.endswith("__init")
        module = key.removesuffix("__init").replace("0", "_").replace("__", ".")
        parsed[module] = read_names(ast.parse(source), module, is_package)
    return parsed


def test_names_of_a_module() -> None:
    source = """
from os import path as p
from . import sibling
from ..up import *
from .near import a, b as c
def f(): ...
class K: ...
if True:
    async def g(): ...
try:
    from .fast import h
except ImportError:
    from .slow import h
__all__: list[str]
__all__ = ["f"]
__all__ += ["K"]
"""
    names = read_names(ast.parse(source), "pkg.sub.mod", False)
    assert names.defined == {"f", "K", "g"}
    assert names.imported == {
        "p": ("os", "path"),
        "sibling": ("pkg.sub", "sibling"),
        "a": ("pkg.sub.near", "a"),
        "c": ("pkg.sub.near", "b"),
        "h": ("pkg.sub.slow", "h"),
    }
    assert names.starred == ["pkg.up"]
    assert names.listed == ["f", "K"]
    annotated = read_names(ast.parse('__all__: list[str] = ["f"]'), "pkg", True)
    assert annotated.listed == ["f"]
    package = read_names(ast.parse("from .x import y"), "pkg", True)
    assert package.imported == {"y": ("pkg.x", "y")}


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (  # the shortest public place wins
            {
                "pkg__init": "from ._core import sort\nfrom .tools import helper as assist",
                "pkg__0core__init": "from .impl import *",
                "pkg__0core__impl": "__all__ = ['sort']\ndef sort(): ...\ndef hidden(): ...",
                "pkg__tools": "def helper(): ...",
                "pkg__other": "from ._core.impl import sort\n__all__ = ['sort']",
            },
            {"pkg._core.impl.sort": "pkg.sort", "pkg.tools.helper": "pkg.assist"},
        ),
        (  # stars in a circle, and imports of nothing
            {
                "pkg__init": "from .a import *\nfrom .b import *\nfrom .gone import x\nfrom os import path",
                "pkg__a": "from .b import *\nfrom .b import loop\ndef f(): ...",
                "pkg__b": "from .a import *\nfrom .a import loop\ndef g(): ...\ndef _private(): ...",
            },
            {"pkg.a.f": "pkg.f", "pkg.b.g": "pkg.g"},
        ),
        (  # its own name comes before another
            {
                "pkg__init": "from ._impl import concatenate as concat, concatenate",
                "pkg__0impl": "def concatenate(): ...",
            },
            {"pkg._impl.concatenate": "pkg.concatenate"},
        ),
        (  # what a private module lists belongs to its package
            {
                "pkg__init": "",
                "pkg__sub__init": "globals().update(magic())",
                "pkg__sub__0peaks": "__all__ = ['find']\ndef find(): ...\ndef helper(): ...",
                "pkg__0inner__init": "from .deep import x\n__all__ = ['x']",
                "pkg__0inner__deep": "def x(): ...",
            },
            {"pkg.sub._peaks.find": "pkg.sub.find"},
        ),
        (  # a shorter home is kept
            {
                "pkg__base": "def f(): ...",
                "pkg__deep__init": "",
                "pkg__deep__er__init": "from ...base import f",
            },
            {"pkg.base.f": "pkg.base.f"},
        ),
        (  # the last star wins
            {
                "pkg__init": "from .a import *\nfrom .b import *",
                "pkg__a": "def f(): ...",
                "pkg__b": "def f(): ...",
            },
            {"pkg.b.f": "pkg.f", "pkg.a.f": "pkg.a.f"},
        ),
    ],
)
def test_public_names(sources: dict[str, str], expected: dict[str, str]) -> None:
    found = public_names(modules(**sources))
    assert {".".join(origin): ".".join(public) for origin, public in found.items()} == expected
