"""The base class of all settings: frozen, validated, and each key documented once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from clusterns.errors import UserError

S = TypeVar("S", bound="Settings")


class Settings(BaseModel):
    """Settings of one concept. A recipe combines those of all packages into flat keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def unused_keys(self) -> set[str]:
        """Keys that have no effect, given the others. Subclasses extend the set of ``super()``."""
        return set()


def parse_value(text: str) -> Any:
    """Parse a value as YAML, reading text that looks like a number as one."""
    return as_number(yaml.safe_load(text))


def as_number(value: Any) -> Any:
    """Convert text such as ``1e-3``, which YAML 1.1 does not read as a number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def meaning(field: FieldInfo) -> str:
    """The description of a setting, on one line."""
    return " ".join((field.description or "").split())


def closest(name: str, known: Iterable[str]) -> str:
    """Suggest a replacement for an unknown name: the closest known one, and a list of all."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1)
    return f"{f' Did you mean {near[0]}?' if near else ''} Choose one of {', '.join(known)}."


def validated(
    kind: type[S],
    values: Mapping[str, Any],
    source: str,
    where: str = "`clusterns recipes --keys` lists all of them.",
) -> S:
    """Validate ``values``, or raise a UserError that names the key, the value and the allowed values.

    ``where`` tells the user where the keys are explained.
    """
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        # An unknown key is often the misspelled one that is missing.
        errors = sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        first = errors[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            *path, last = map(str, first["loc"])
            near = difflib.get_close_matches(last, _fields_at(kind, path), n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UserError(f"{source}: there is no setting {key!r}.{hint} {where}") from None
        if first["type"] == "missing":
            raise UserError(f"{source}: {key} is missing. {where}") from None
        if not key:
            raise UserError(f"{source}: {first['msg'].removeprefix('Value error, ')}") from None
        allowed = first["msg"][0].lower() + first["msg"][1:]
        raise UserError(f"{source}: {key} = {first['input']!r}: {allowed}.") from None


def _fields_at(kind: type[BaseModel], path: list[str]) -> list[str]:
    """The fields of the model at a path of keys; keys of mappings and positions in lists are skipped."""
    for key in path:
        if key in kind.model_fields:
            kind = _model_in(kind.model_fields[key].annotation) or kind
    return list(kind.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model in an annotation such as ``dict[str, Row] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
