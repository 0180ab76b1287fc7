"""A tool's arguments, from the signature of its function: for `tool.tool`.

Every app has tools of its own, made of the same few functions: what a signature
says is worked out once, since that takes longer than all the rest of opening an app.
"""

from __future__ import annotations

import inspect
import typing
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
from pydantic import ConfigDict, create_model
from pydantic.json_schema import GenerateJsonSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
