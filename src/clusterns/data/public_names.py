"""The name under which users know an object: ``numpy.sort``, not ``numpy._core.fromnumeric.sort``.

Packages define objects in private modules and import them where users find them. These imports are
read from the source, never run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Binding = tuple[str, str]  # a module, and a name in it


@dataclass
class Names:
    """The names one module binds at its top level."""

    module: str
    is_package: bool
    defined: set[str] = field(default_factory=set)
    imported: dict[str, Binding] = field(default_factory=dict)
    starred: list[str] = field(default_factory=list)  # from ... import *
    listed: list[str] = field(default_factory=list)  # __all__


def read_names(tree: ast.Module, module: str, is_package: bool) -> Names:
    """Collect what a parsed module defines, imports and exports."""
    names = Names(module, is_package)
    for node in _top_level(tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.defined.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, names)
            for alias in node.names:
                if alias.name == "*":
                    names.starred.append(origin)
                else:
                    names.imported[alias.asname or alias.name] = (origin, alias.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id == "__all__":
                names.listed += [
                    constant.value
                    for constant in ast.walk(node.value)
                    if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
                ]
    return names


def public_names(modules: Mapping[str, Names]) -> dict[Binding, Binding]:
    """Map each publicly importable object to its shortest public location.

    Keys are (defining module, name), values (public module, public name). A module exports the names
    that it defines or lists in ``__all__``, and a package also those that its ``__init__`` imports. The
    names that a private module lists are assigned to its package, which may import them in a way we
    cannot read.
    """
    bindings = _bindings(modules)
    found: dict[Binding, Binding] = {}
    for names in sorted(modules.values(), key=_distance):
        module, offered = names.module, set(names.listed)
        place = module if is_public(module) or names.is_package else module.rpartition(".")[0]
        if not is_public(place):
            continue
        if place == module:
            offered |= bindings[module].keys() if names.is_package else names.defined
        for name in sorted(filter(is_public, offered)):
            origin = _definition((module, name), bindings)
            if origin is None or origin[0].split(".")[0] != module.split(".")[0]:
                continue
            known = found.setdefault(origin, (place, name))
            if known[0] == place and name == origin[1]:  # prefer its own name to an alias
                found[origin] = (place, name)
    return found


def _distance(names: Names) -> tuple[bool, int, bool, str]:
    module = names.module
    return not is_public(module), module.count("."), not names.is_package, module


def is_public(path: str) -> bool:
    """Whether no part of a dotted name starts with an underscore."""
    return not any(part.startswith("_") for part in path.split("."))


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, also those under ``if`` and ``try``."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from _top_level([*node.body, *node.orelse])
            for handler in getattr(node, "handlers", ()):
                yield from _top_level(handler.body)


def _origin(node: ast.ImportFrom, names: Names) -> str:
    if not node.level:
        return node.module or ""
    parents = names.module.split(".")
    base = parents[: len(parents) - node.level + names.is_package]
    return ".".join([*base, node.module] if node.module else base)


def _bindings(modules: Mapping[str, Names]) -> dict[str, dict[str, Binding]]:
    """Resolve the names of each module, including star imports."""
    bindings = {
        module: {**names.imported, **{name: (module, name) for name in names.defined}}
        for module, names in modules.items()
    }
    changed = True
    while changed:  # a star import may depend on another
        changed = False
        for module, names in modules.items():
            for starred in reversed(names.starred):  # as in Python, the last import wins
                offered = bindings.get(starred, {})
                for name in modules[starred].listed or list(offered) if offered else ():
                    if name in offered and name not in bindings[module]:
                        bindings[module][name] = (starred, name)
                        changed = True
    return bindings


def _definition(binding: Binding, bindings: Mapping[str, Mapping[str, Binding]]) -> Binding | None:
    """Follow imports to where an object is defined."""
    seen = set()
    while binding not in seen:
        seen.add(binding)
        module, name = binding
        origin = bindings.get(module, {}).get(name)
        if origin is None or origin == binding:
            return origin
        binding = origin
    return None
