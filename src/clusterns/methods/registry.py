"""Which methods and parts there are: those of this package, and those of others.

Nothing here loads PyTorch: methods import what is heavy in their functions.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

from pydantic import create_model, model_validator
from pydantic.fields import FieldInfo

from clusterns import methods as package
from clusterns.errors import UserError
from clusterns.methods.method import Method
from clusterns.methods.recipe import Recipe
from clusterns.settings import closest

ENTRY_POINTS = "clusterns.methods"
M = TypeVar("M", bound=type[Method])
P = TypeVar("P", bound=type[Recipe])

_METHODS: dict[str, Method] = {}
_PARTS: dict[str, type[Recipe]] = {}


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
    """Import every module of this package, and those that other packages name."""
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # whatever it is, the other methods work
            raise UserError(
                f"the method {entry.name} of another package ({entry.value}) cannot be loaded: "
                f"{error}. Mend or uninstall that package."
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


def get_part(name: str) -> type[Recipe]:
    """The settings of a part by its name."""
    _load()
    if name not in _PARTS:
        raise UserError(f"there is no part {name!r}.{closest(name, part_names())}")
    return _PARTS[name]


def keys_of(settings: type[Recipe]) -> set[str]:
    """The keys that a part or a method adds to those of every run."""
    return set(settings.model_fields) - set(Recipe.model_fields)


def owners() -> dict[str, str]:
    """What each key that not every run has belongs to: ``method clusterns``, ``part queue``."""
    methods: dict[str, list[str]] = {}
    for name in method_names():
        for key in set().union(*(keys_of(settings) for settings in _settings_of(name, ()))):
            methods.setdefault(key, []).append(name)
    found = {key: f"method {' or '.join(names)}" for key, names in methods.items()}
    for name in part_names():
        for key in keys_of(get_part(name)):
            found.setdefault(key, f"part {name}")
    return found


def part_with(key: str) -> str | None:
    """The part that a key belongs to, if it is one's."""
    return next((name for name in part_names() if key in keys_of(get_part(name))), None)


def all_fields() -> dict[str, FieldInfo]:
    """Every key of every method and part, sorted."""
    kinds: list[type[Recipe]] = [Recipe, *(get_part(name) for name in part_names())]
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


def all_parts(recipe: Recipe) -> list[type[Recipe]]:
    """The settings of the parts of a recipe: those of its method, then those that it adds."""
    names = dict.fromkeys((*get_method(recipe.method).parts, *recipe.parts))
    return [get_part(name) for name in names]


def _settings_of(name: str, parts: Sequence[str]) -> list[type[Recipe]]:
    chosen = get_method(name)
    names = dict.fromkeys((*chosen.parts, *parts))
    return [*(get_part(each) for each in names), chosen.settings]


@cache
def recipe_class(name: str, parts: tuple[str, ...] = ()) -> type[Recipe]:
    """The class of a method's recipes, with the keys of its parts and of those that are added."""
    chosen = get_method(name)
    bases = [each for each in dict.fromkeys(_settings_of(name, parts)) if each is not Recipe]
    for i, one in enumerate(bases):
        for other in bases[i + 1 :]:
            if shared := keys_of(one) & keys_of(other):
                raise UserError(
                    f"{one.__name__} and {other.__name__} both have a key {min(shared)!r}: they "
                    "cannot be combined."
                )

    def check(self: Any) -> Any:
        if self.parts and not chosen.trains:
            raise ValueError(f"parts are for methods that train, and {name} does not.")
        views = chosen.views(self)
        if chosen.trains and self.dropout == 0 and chosen.views_are_the_same(views):
            raise ValueError("positives = dropout with dropout = 0: both views would be the same.")
        chosen.check(self)
        return self

    validator: Any = model_validator(mode="after")(check)

    return create_model(
        "Recipe",
        __base__=tuple(bases) or Recipe,
        __validators__={"_method_agrees": validator},
    )
