"""The registry of methods and parts of this package and of others.

Nothing here loads PyTorch: methods import heavy modules inside their functions.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from itertools import combinations
from typing import Any, TypeVar

from pydantic import create_model, model_validator
from pydantic.fields import FieldInfo

from clusterns import methods as package
from clusterns.errors import UserError
from clusterns.methods.method import Method
from clusterns.methods.recipe import PartSettings, Recipe
from clusterns.settings import Settings, closest

ENTRY_POINTS = "clusterns.methods"
M = TypeVar("M", bound=type[Method])
P = TypeVar("P", bound=type[PartSettings])

_METHODS: dict[str, Method] = {}
_PARTS: dict[str, type[PartSettings]] = {}


def method(kind: M) -> M:
    """Class decorator: register a method."""
    _register(_METHODS, "method", kind.name, kind())
    return kind


def part(name: str) -> Callable[[P], P]:
    """Class decorator: register a part by its settings."""

    def register(settings: P) -> P:
        _register(_PARTS, "part", name, settings)
        return settings

    return register


def _register(known: dict[str, Any], what: str, name: str, value: Any) -> None:
    other = known.get(name)
    if other is not None and _home(other) != _home(value):
        raise ValueError(f"there are two {what}s called {name!r}: {_home(other)}, {_home(value)}")
    known[name] = value


def _home(value: Any) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


@cache
def _load() -> None:
    """Import every module of this package, and those of other packages' entry points."""
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # any error of another package's code
            raise UserError(
                f"the method {entry.name} of another package ({entry.value}) cannot be loaded: "
                f"{error}. Fix or uninstall that package."
            ) from error


def method_names() -> list[str]:
    """All methods, sorted."""
    _load()
    return sorted(_METHODS)


def part_names() -> list[str]:
    """All parts, sorted."""
    _load()
    return sorted(_PARTS)


def get_method(name: str) -> Method:
    """A method by its name."""
    _load()
    if name not in _METHODS:
        raise UserError(f"there is no method {name!r}.{closest(name, method_names())}")
    return _METHODS[name]


def get_part(name: str) -> type[PartSettings]:
    """The settings of a part by its name."""
    _load()
    if name not in _PARTS:
        raise UserError(f"there is no part {name!r}.{closest(name, part_names())}")
    return _PARTS[name]


def keys_of(settings: type[Settings]) -> set[str]:
    """The settings that a part or a method adds to those of every run."""
    return set(settings.model_fields) - set(Recipe.model_fields)


def owners() -> dict[str, str]:
    """The owner of each setting that not every run has: ``method clusterns``, ``part queue``."""
    methods: dict[str, list[str]] = {}
    for name in method_names():
        for key in recipe_class(name).model_fields.keys() - Recipe.model_fields.keys():
            methods.setdefault(key, []).append(name)
    found = {key: f"method {' or '.join(names)}" for key, names in methods.items()}
    for name in part_names():
        for key in keys_of(get_part(name)):
            found.setdefault(key, f"part {name}")
    return found


def part_with(key: str) -> str | None:
    """The part that a setting belongs to, if any."""
    return next((name for name in part_names() if key in keys_of(get_part(name))), None)


def all_fields() -> dict[str, FieldInfo]:
    """Every setting of every method and part, sorted."""
    kinds: list[type[Settings]] = [Recipe, *map(get_part, part_names())]
    kinds += [get_method(name).settings for name in method_names()]
    fields = {key: field for kind in kinds for key, field in kind.model_fields.items()}
    return dict(sorted(fields.items()))


def defaults_by_method(key: str) -> dict[str, Any]:
    """The default of a key in the methods where it is not that of :func:`all_fields`."""
    usual = all_fields()[key].default
    found = {}
    for name in method_names():
        fields = recipe_class(name).model_fields
        if key in fields:
            default = get_method(name).defaults.get(key, fields[key].default)
            if default != usual:
                found[name] = default
    return found


def part_settings(recipe: Recipe) -> list[PartSettings]:
    """The settings of each part of a recipe: those of its method, then those that it adds."""
    return [kind.of(recipe) for kind in _part_kinds(recipe.method, recipe.parts)]


def _part_kinds(name: str, parts: Sequence[str]) -> list[type[PartSettings]]:
    return [get_part(each) for each in dict.fromkeys((*get_method(name).parts, *parts))]


@cache
def recipe_class(name: str, parts: tuple[str, ...] = ()) -> type[Recipe]:
    """The class of a method's recipes: the fields of every run, of its parts and of the method itself."""
    chosen, kinds = get_method(name), _part_kinds(name, parts)
    bases = [kind for kind in (*kinds, chosen.settings) if kind is not Settings]
    for one, other in combinations(bases, 2):
        if shared := keys_of(one) & keys_of(other):
            raise UserError(
                f"{one.__name__} and {other.__name__} both have a setting {min(shared)!r}, so they "
                "cannot be combined."
            )

    def check(self: Any) -> Any:
        if self.parts and not chosen.trains:
            raise ValueError(f"parts are for methods that train, and {name} does not.")
        for kind in kinds:
            kind.of(self).check(self)
        views = chosen.views(self)
        if chosen.trains and self.dropout == 0 and chosen.views_are_the_same(self, views):
            raise ValueError("positives = dropout with dropout = 0: both views would be the same.")
        chosen.check(self)
        return self

    validator: Any = model_validator(mode="after")(check)
    joined: Any = (*bases, Recipe)
    return create_model("Recipe", __base__=joined, __validators__={"_method_agrees": validator})
