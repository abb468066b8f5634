"""A command is a request, from which its command line and its Python function are made.

Each command is one file that imports nothing heavy. Its request is a frozen model: each field is
an option, the docstring below the field is its help, and its default and bounds hold everywhere.

```python
class SearchRequest(ModelOptions):       # options.py has what several commands share
    '''Find the texts nearest to a query.'''    # the function's docstring, the command's help

    query: Annotated[str, Cli(argument=True)] = Field(kw_only=False)  # positional in Python
    '''What to look for.'''
    top: Annotated[int, Ge(1)] = 10      # not Field(10, ge=1): mypy would call it required
    '''Number of results.'''

    def run(self) -> list[Hit]:
        check_model(str(self.model), self.pooling)             # validate first, with light imports
        from clusterns.encoder.load import load_model
        ...


class SearchCommand(SearchRequest):      # options that only the command line has
    '''Find the texts nearest to a query.'''    # only if the command's help differs

    as_json: Json = False

    def show(self, result: list[Hit]) -> None:     # print what `run` returned
        ...


search = function(SearchRequest)         # search(model, query, *, top=10, ..., quiet=False)
```

Then name ``search`` in ``clusterns.cli.COMMANDS`` (a group calls :func:`add_command` for its ``app``), and
the function in ``clusterns/__init__.pyi`` and ``docs/python.md``. A command without options of its own
defines ``show`` on the request. Ctrl-C ends every command with exit code 130 and what ``resume_hint``
returns. Every command has ``--quiet`` and ``--verbose``, and ``run`` needs neither: status
and bars are silenced around it, and the libraries too on the command line. Inside a request, wrap
fields of type ``Texts`` or ``Files`` in ``as_list`` for the type checker. Workers take a request as JSON:
``request.model_dump_json()`` and ``SearchRequest.model_validate_json(text)``.

Types: ``Literal[...]`` for a choice, ``Annotated[int | None, Ge(1)] = None`` for an optional number
(the None inside), ``Annotated[Sequence[str], Cli(list[str])] = ()`` for an option that may be repeated, and
:func:`same_as` for a field that another model already documents.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from copy import copy
from inspect import Parameter, Signature
from typing import Annotated, Any, NamedTuple, ParamSpec, Protocol, TypeVar

import typer
from annotated_types import Ge, Le
from pydantic import ConfigDict
from pydantic.fields import FieldInfo

from clusterns.console import log, quiet_libraries, set_verbose, silenced
from clusterns.errors import Interrupted
from clusterns.settings import Settings, meaning, validated

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
VERBOSE = typer.Option("--verbose", help="Show what the libraries log, and tracebacks of errors.")


class Cli(NamedTuple):
    """Command-line details of a field that its type does not determine."""

    type: Any = None
    """The type for typer, if the field's own type is wider: Path, list[str]."""
    names: tuple[str, ...] = ()
    """Names of the option. Empty: made from the field's name."""
    argument: bool = False
    """Whether it is a positional argument."""
    metavar: str | None = None
    """Placeholder of the value in the help."""


class Request(Settings):
    """The input of one command. Subclasses define ``run``."""

    model_config = ConfigDict(defer_build=True)

    quiet: bool = False
    """Hide status lines and progress bars."""

    def run(self) -> Any:
        """Validate the request before heavy imports, then execute it."""
        raise NotImplementedError

    def show(self, result: Any) -> None:
        """Print the result of :meth:`run`."""

    def resume_hint(self) -> str:
        """The hint to print after Ctrl-C."""
        return ""

    def perform(self) -> None:
        """Run and print the result."""
        self.show(self.run())

    def execute(self) -> None:
        """Run as a command; Ctrl-C ends it with exit code 130."""
        try:
            self.perform()
        except (KeyboardInterrupt, Interrupted) as stop:
            log(f"{str(stop) or 'Stopped'}. {self.resume_hint()}".rstrip())
            raise typer.Exit(130) from None

    @classmethod
    def fields(cls) -> dict[str, FieldInfo]:
        """The fields in the order of the help: positional and required ones, then those of the class that
        runs, then the command line's own, then those of the bases."""
        kinds = [kind for kind in cls.__mro__ if issubclass(kind, Settings)]
        home = next(kind for kind in kinds if "run" in vars(kind))
        first = [name for name, field in cls.model_fields.items() if field.kw_only is False]
        required = [name for name, field in cls.model_fields.items() if field.is_required()]
        others = [name for kind in (home, *kinds) for name in inspect.get_annotations(kind)]
        names = dict.fromkeys((*first, *required, *others))
        return {name: cls.model_fields[name] for name in names if name in cls.model_fields}


class Runnable(Protocol[R_co]):
    """An instance of a request, as a type checker sees it."""

    def run(self) -> R_co:
        """Execute the request."""


def function(request: Callable[P, Runnable[R]]) -> Callable[P, R]:
    """Build the Python function of a request, with its fields as parameters."""
    kind: Any = request
    name = command_name(kind)
    signature = Signature([_parameter(*each) for each in kind.fields().items()])

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        made = validated(kind, signature.bind(*args, **kwargs).arguments, name)
        with silenced(made.quiet):
            return made.run()

    typed: Any = call
    typed.__signature__, typed.__doc__ = signature, "\n".join(_docstring(kind))
    typed.__name__ = typed.__qualname__ = name
    typed.__module__ = kind.__module__
    return call


def add_command(
    app: typer.Typer, name: str, request: type[Request], *, hidden: bool = False
) -> None:
    """Add the command of a request to an app."""

    def run(**given: Any) -> None:
        set_verbose(given.pop("verbose"))
        quiet_libraries()
        # The model fills in the defaults of missing options.
        values = {key: value for key, value in given.items() if value not in (None, [])}
        with silenced(given["quiet"]):
            validated(request, values, name).execute()

    options = [_option(*each) for each in request.fields().items()]
    verbose = Parameter(
        "verbose", Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, VERBOSE]
    )
    typed: Any = run
    typed.__signature__ = Signature([*options, verbose])
    typed.__annotations__ = {each.name: each.annotation for each in (*options, verbose)}
    typed.__doc__ = inspect.getdoc(request)
    app.command(name, hidden=hidden)(run)


def command_name(request: type[Request]) -> str:
    """The name of a request's function: ``lab_run`` of ``LabRunRequest``."""
    words = re.findall("[A-Z][a-z]*", request.__name__)
    return "_".join(word.lower() for word in words if word not in ("Request", "Command"))


def _parameter(name: str, field: FieldInfo) -> Parameter:
    kind = Parameter.POSITIONAL_OR_KEYWORD if field.kw_only is False else Parameter.KEYWORD_ONLY
    default = Parameter.empty if field.is_required() else field.default
    return Parameter(name, kind, default=default, annotation=field.annotation)


def same_as(kind: type[Settings], name: str, default: Any = None) -> Any:
    """Build a field with the help and bounds of another model's field, such as a recipe setting.

    If ``default`` is None, the other model's default applies, and the help mentions it.
    """
    field = copy(kind.model_fields[name])
    # An empty key in a recipe corresponds to an omitted option in a call.
    field.description = (field.description or "").replace("Empty: ", "Default: ")
    if default is None and field.default:
        field.description += f" Default: {field.default}."
    field.default, field.default_factory = default, None
    return field


def _option(name: str, field: FieldInfo) -> Parameter:
    cli, low, high = (_metadata(field, kind) for kind in (Cli, Ge, Le))
    cli = cli or Cli()
    required = field.is_required()
    unset = required or field.default is None or field.default in ((), {})
    options: dict[str, Any] = {
        "help": field.description, "show_default": not unset, "metavar": cli.metavar,
        "min": low and low.ge, "max": high and high.le,
    }  # fmt: skip
    if cli.argument:
        info: Any = typer.Argument(**{**options, "metavar": cli.metavar or name.upper()})
    else:
        flag = (f"--{name.replace('_', '-')}",) if field.default is False else ()
        info = typer.Option(*(cli.names or flag), **options)
    return Parameter(
        name,
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if required else None if unset else field.default,
        annotation=Annotated[cli.type or field.annotation, info],
    )


def _metadata(field: FieldInfo, kind: Any) -> Any:
    found = [each for each in field.metadata if isinstance(each, kind)]
    return found[-1] if found else None  # of a narrowed type, the last one


def _docstring(request: type[Request]) -> Iterator[str]:
    yield inspect.getdoc(request) or ""
    yield "\nArgs:"
    for name, field in request.fields().items():
        yield f"    {name}: {meaning(field)}"
    yield "\nRaises:\n    UserError: an error that the caller can fix, described in one sentence."
