"""Options that every command has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, get_type_hints

from clusterns.cli.options import Quiet, Verbose
from clusterns.console import set_verbose, silenced


def common(command: Callable[..., None]) -> Callable[..., None]:
    """A command with --quiet, unless it has its own, and --verbose."""
    known = inspect.signature(command).parameters
    more = {"quiet": Quiet, "verbose": Verbose}
    added = {name: kind for name, kind in more.items() if name not in known}

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        set_verbose(options.pop("verbose"))
        with silenced("quiet" in added and options.pop("quiet")):
            command(*arguments, **options)

    kinds = {**get_type_hints(command, include_extras=True), **added}
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False) for name in added
    ]
    parameters = [
        parameter.replace(annotation=kinds[parameter.name])
        for parameter in [*known.values(), *extra]
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = kinds
    return run
