"""A tool's arguments: their JSON Schema from a function's signature, and checks against a foreign one.

Every app has tools of its own, made of the same few functions: what a signature says is worked out once,
since that takes longer than all the rest of opening an app. `tool` asks.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import msgspec
from pydantic import ConfigDict, create_model
from pydantic.json_schema import GenerateJsonSchema

from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pydantic import BaseModel

    Arguments = tuple[type[BaseModel], dict[str, Any]]


_MOST_KNOWN = 512
"""More signatures than Bethink and its plug-ins have by far."""


_MISSING = inspect.Parameter.empty


def arguments_of(handler: Callable[..., object]) -> Arguments:
    """The model of what a tool's function takes behind its context, and its JSON Schema.

    The schema is the caller's own to change.
    """
    _, *parameters = inspect.signature(handler).parameters.values()
    if written := _written(handler, parameters):
        model, schema = _known(written)
        return model, msgspec.json.decode(schema)
    hints = typing.get_type_hints(handler, include_extras=True)
    return _made(handler.__name__, {one.name: (hints[one.name], one.default) for one in parameters})


@dataclass(frozen=True, slots=True)
class _Written:
    """A signature all of whose annotations are text: equal ones mean the same in the same module.

    A parameter is its name, annotation, the type of its default, and the default; that of an empty
    list is told by its type alone.
    """

    name: str
    parameters: tuple[tuple[str, str, type, object], ...]
    module: int
    """The identity of `names`, which live as long as this."""
    names: dict[str, Any] = field(compare=False, repr=False)


def _written(handler: Callable[..., object], parameters: Sequence[inspect.Parameter]) -> _Written | None:
    names: dict[str, Any] | None = getattr(inspect.unwrap(handler), "__globals__", None)
    if names is None or not all(
        isinstance(one.annotation, str)
        and (one.default in (_MISSING, None, []) or isinstance(one.default, str | int | float))
        for one in parameters
    ):
        return None
    # 1, 1.0 and True are equal, and make different schemas.
    kinds: list[type] = [type(one.default) for one in parameters]
    read = tuple(
        (one.name, one.annotation, kind, None if kind is list else one.default)
        for one, kind in zip(parameters, kinds, strict=True)
    )
    return _Written(handler.__name__, read, id(names), names)


@lru_cache(_MOST_KNOWN)
def _known(written: _Written) -> tuple[type[BaseModel], bytes]:
    """The model, and the schema as JSON: reading it again is ten times as fast as copying it."""
    annotated = SimpleNamespace(__annotations__={name: text for name, text, _, _ in written.parameters})
    hints = typing.get_type_hints(annotated, written.names, include_extras=True)
    fields: dict[str, tuple[Any, object]] = {
        name: (hints[name], [] if kind is list else default) for name, _, kind, default in written.parameters
    }
    model, schema = _made(written.name, fields)
    return model, msgspec.json.encode(schema)


def _made(name: str, parameters: Mapping[str, tuple[Any, object]]) -> Arguments:
    fields: dict[str, Any] = {
        name: (hint, ... if default is _MISSING else default) for name, (hint, default) in parameters.items()
    }
    model = create_model(name, __config__=ConfigDict(extra="forbid", frozen=True), **fields)
    return model, _schema(model)


class _Plain(GenerateJsonSchema):
    """Schemas without the titles that pydantic adds: models pay for every token."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """Never."""
        del schema
        return False


def _schema(arguments: type[BaseModel]) -> dict[str, Any]:
    schema = arguments.model_json_schema(schema_generator=_Plain)
    for definition in schema.get("$defs", {}).values():
        definition.pop("title", None)
    return {
        "type": "object",
        "properties": schema.get("properties", {}),
        "required": schema.get("required", []),
        "additionalProperties": False,
        **({"$defs": schema["$defs"]} if "$defs" in schema else {}),
    }


_MAX_REASONS = 5
_BRIEF = 200


def checker(schema: dict[str, Any]) -> Callable[[str], dict[str, Any]]:
    """Checks JSON text against the schema; one that is no valid schema lets every object pass.

    References lead inside the schema only: nothing is ever loaded for them. The
    schema is looked at when it is first needed: that takes a hundredth of a
    second, and a server may have thousands of tools.
    """
    validator = cache(partial(_validator, schema))

    def check(written: str) -> dict[str, Any]:
        try:
            arguments: Any = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"The arguments are not valid. They are no JSON: {error}") from error
        if not isinstance(arguments, dict):
            raise BadInput("The arguments are not valid. An object is wanted.")
        given = cast("dict[str, Any]", arguments)
        reasons = list(_reasons(found, given)) if (found := validator()) else []
        if reasons:
            raise BadInput("The arguments are not valid. " + "; ".join(reasons))
        return given

    return check


def _validator(schema: dict[str, Any]) -> Any:  # noqa: ANN401 - as below
    import jsonschema
    from jsonschema.validators import validator_for
    from referencing import Registry

    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError:
        return None
    return kind(schema, registry=Registry())


def _reasons(validator: Any, arguments: dict[str, Any]) -> Iterator[str]:  # noqa: ANN401 - jsonschema's Validator has no type of its own
    from referencing.exceptions import Unresolvable

    try:
        for count, error in enumerate(validator.iter_errors(arguments)):
            if count == _MAX_REASONS:
                yield "and more"
                return
            place = ".".join(str(part) for part in error.absolute_path) or "arguments"
            yield f"{place}: {error.message[:_BRIEF]}"
    except (Unresolvable, RecursionError):
        # The server's own schema is at fault: the server is left to judge.
        return


def leaves(arguments: dict[str, Any]) -> Sequence[str]:
    """Every text and number in the arguments, as text."""
    found: list[str] = []
    rest: list[Any] = [arguments]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            rest += cast("list[Any]", value)
        elif value is not None and not isinstance(value, bool):
            found.append(str(value))
    return found[::-1]


Schema = Mapping[str, Any]


def has_secrets(schema: Schema) -> bool:
    """Whether some property of the arguments is secret."""
    match schema:
        case {"writeOnly": True}:
            return True
        case _:
            return any(_holds(value) for value in schema.values())


def _holds(value: object) -> bool:
    match value:
        case dict():
            return has_secrets(value)  # pyright: ignore[reportUnknownArgumentType] - JSON
        case list():
            return any(_holds(part) for part in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
        case _:
            return False
