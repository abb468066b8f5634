from __future__ import annotations

import ast

from clusterns.data.public_names import Names, is_public, public_names, read_names


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
    package = read_names(ast.parse("from .x import y"), "pkg", True)
    assert package.imported == {"y": ("pkg.x", "y")}


def test_the_shortest_public_place_wins() -> None:
    found = public_names(
        modules(
            pkg__init="from ._core import sort\nfrom .tools import helper as assist",
            pkg__0core__init="from .impl import *",
            pkg__0core__impl="__all__ = ['sort']\ndef sort(): ...\ndef hidden(): ...",
            pkg__tools="def helper(): ...",
            pkg__other="from ._core.impl import sort\n__all__ = ['sort']",
        )
    )
    assert found == {
        ("pkg._core.impl", "sort"): ("pkg", "sort"),
        ("pkg.tools", "helper"): ("pkg", "assist"),
    }


def test_stars_in_a_circle_and_imports_of_nothing() -> None:
    found = public_names(
        modules(
            pkg__init="from .a import *\nfrom .b import *\nfrom .gone import x\nfrom os import path",
            pkg__a="from .b import *\nfrom .b import loop\ndef f(): ...",
            pkg__b="from .a import *\nfrom .a import loop\ndef g(): ...\ndef _private(): ...",
        )
    )
    assert found == {("pkg.a", "f"): ("pkg", "f"), ("pkg.b", "g"): ("pkg", "g")}


def test_its_own_name_comes_before_another() -> None:
    found = public_names(
        modules(
            pkg__init="from ._impl import concatenate as concat, concatenate",
            pkg__0impl="def concatenate(): ...",
        )
    )
    assert found == {("pkg._impl", "concatenate"): ("pkg", "concatenate")}


def test_what_a_private_module_lists_belongs_to_its_package() -> None:
    found = public_names(
        modules(
            pkg__init="",
            pkg__sub__init="globals().update(magic())",
            pkg__sub__0peaks="__all__ = ['find']\ndef find(): ...\ndef helper(): ...",
            pkg__0inner__init="from .deep import x\n__all__ = ['x']",
            pkg__0inner__deep="def x(): ...",
        )
    )
    assert found == {("pkg.sub._peaks", "find"): ("pkg.sub", "find")}


def test_a_shorter_home_is_kept() -> None:
    found = public_names(
        modules(
            pkg__base="def f(): ...",
            pkg__deep__init="",
            pkg__deep__er__init="from ...base import f",
        )
    )
    assert found == {("pkg.base", "f"): ("pkg.base", "f")}


def test_the_last_star_wins() -> None:
    found = public_names(
        modules(
            pkg__init="from .a import *\nfrom .b import *",
            pkg__a="def f(): ...",
            pkg__b="def f(): ...",
        )
    )
    assert found == {("pkg.b", "f"): ("pkg", "f"), ("pkg.a", "f"): ("pkg.a", "f")}


def test_is_public() -> None:
    assert is_public("numpy.linalg.svd")
    assert not is_public("numpy._core.sort")
