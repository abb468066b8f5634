"""The docstrings of one Python source file, parsed with ``ast`` and never imported."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clusterns.data.docstring_text import docstring_sentences
from clusterns.data.public_names import Names, read_names


@dataclass(frozen=True)
class SourceFile:
    """A Python file and its dotted module name."""

    path: Path
    module: str


@dataclass(frozen=True)
class Documented:
    """An object with a docstring. ``name`` is qualified within ``module``; empty for the module."""

    module: str
    name: str
    kind: str
    sentences: list[str]


def read_source(file: SourceFile) -> tuple[Names, list[Documented]] | None:
    """Read the names and docstrings of a file; None if it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in third-party code
            tree = ast.parse(file.path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        return None
    docstrings = (
        _docstrings(tree, file) if file.path.suffix == ".py" else ()
    )  # a stub has names only
    found = [
        Documented(module, name, kind, sentences)
        for module, name, kind, docstring in docstrings
        if (sentences := docstring_sentences(docstring))
    ]
    return read_names(tree, file.module, file.path.stem == "__init__"), found


def _docstrings(tree: ast.Module, file: SourceFile) -> Iterator[tuple[str, str, str, str]]:
    """Yield module, name, kind and docstring of everything documented in a file."""
    if docstring := ast.get_docstring(tree, clean=False):
        yield file.module, "", "module", docstring
    for node in tree.body:
        if isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Call):
            yield from _attached(node, node.value, file)
        for name, kind, docstring in _definitions(node):
            yield file.module, name, kind, docstring


def _definitions(node: ast.stmt, parent: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield name, kind and docstring of a function or a class, its methods and nested classes."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        if isinstance(node, ast.If | ast.Try):
            for child in [*node.body, *node.orelse]:
                yield from _definitions(child, parent)
        return
    name = f"{parent}.{node.name}" if parent else node.name
    is_class = isinstance(node, ast.ClassDef)
    if docstring := ast.get_docstring(node, clean=False) or _assigned_doc(node.body):
        yield name, "class" if is_class else "method" if parent else "function", docstring
    if is_class:
        for child in node.body:
            yield from _definitions(child, name)


def _assigned_doc(body: list[ast.stmt]) -> str:
    """The text of ``__doc__ = ...`` in a class."""
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__doc__":
            return _first_string(node.value)
    return ""


def _first_string(node: ast.AST) -> str:
    """The first string in an expression such as ``"..." + notes`` or ``"...".format(...)``."""
    strings = [
        (part.lineno, part.col_offset, part.value)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return min(strings)[-1] if strings else ""


def _attached(
    node: ast.Expr | ast.Assign, call: ast.Call, file: SourceFile
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the docstring that a call attaches to a compiled object, as in numpy and torch.

    ``add_newdoc("numpy._core.multiarray", "zeros", doc)``, ``add_newdoc("airy", doc)`` in the package
    of the object, ``add_docstr(torch.sort, doc)`` and ``svd = add_docstr(..., doc)``.
    """
    function = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    if function.lstrip("_") not in ("add_newdoc", "add_docstr") or len(call.args) < 2:
        return
    *target, text = call.args
    if isinstance(text, ast.Tuple | ast.List):  # attributes of a class
        return
    places = [str(part.value) for part in target if isinstance(part, ast.Constant)]
    if isinstance(node, ast.Assign):
        module, name = file.module, ast.unparse(node.targets[0])
    elif places:
        module = places[-2] if len(places) > 1 else file.module.rpartition(".")[0]
        name = places[-1]
    else:
        module, _, name = ast.unparse(target[0]).rpartition(".")
    yield module, name, "function", _first_string(text)
