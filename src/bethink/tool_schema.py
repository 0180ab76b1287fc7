"""Arguments against a JSON Schema that somebody else wrote: for `tool.foreign_tool`."""

from __future__ import annotations

import json
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
            message = f"The arguments are not valid. They are no JSON: {error}"
            raise BadInput(message) from error
        if not isinstance(arguments, dict):
            message = "The arguments are not valid. An object is wanted."
            raise BadInput(message)
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
