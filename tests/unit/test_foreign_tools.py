"""Tools with a JSON Schema that somebody else wrote."""

from __future__ import annotations

from typing import Any

import pytest

from bethink.errors import BadInput
from bethink.tool import MAX_DESCRIPTION, Tool, ToolContext, foreign_tool

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer"},
        "who": {"$ref": "#/$defs/who"},
    },
    "required": ["city"],
    "$defs": {"who": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}


async def answer(context: ToolContext, **arguments: object) -> str:
    return str(arguments)


def tool_of(parameters: dict[str, Any], description: str = "Tells the weather.") -> Tool:
    return foreign_tool(
        answer,
        name="weather__forecast",
        description=description,
        parameters=parameters,
        effect="egress",
        trust="untrusted",
        label="weather: forecast {city}",
        source="weather",
        timeout_s=None,
    )


@pytest.mark.requirement("R143")
def test_arguments_that_fit_come_as_they_are() -> None:
    forecast = tool_of(SCHEMA)
    assert forecast.parse('{"city": "Oslo", "who": {"name": "Ann"}}') == {
        "city": "Oslo",
        "who": {"name": "Ann"},
    }
    assert forecast.describe({"city": "Oslo"}) == "weather: forecast {city}"
    assert forecast.source == "weather"


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", "'city' is a required property"),
        ('{"city": 3}', "city: 3 is not of type 'string'"),
        ('{"city": "Oslo", "days": "2"}', "days: '2' is not of type 'integer'"),
        ('{"city": "Oslo", "who": {}}', "who: 'name' is a required property"),
        ("[1]", "An object is wanted"),
        ('{"city": ', "They are no JSON"),
        ("[" * 100_000, "They are no JSON"),
    ],
)
def test_arguments_that_do_not_fit_are_named_with_the_reason(written: str, reason: str) -> None:
    with pytest.raises(BadInput) as raised:
        tool_of(SCHEMA).parse(written)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "https://elsewhere.example/schema.json"},
        {"properties": {"a": {"$ref": "#/$defs/none"}}},
        {"$ref": "#"},
    ],
)
def test_a_schema_that_is_at_fault_lets_the_server_judge_and_loads_nothing(schema: dict[str, Any]) -> None:
    assert tool_of(schema).parse('{"a": 1}') == {"a": 1}


def test_all_that_it_is_called_with_leaves_the_machine() -> None:
    gives = tool_of(SCHEMA).gives
    assert gives is not None
    assert sorted(gives({"a": ["x", {"b": 2, "c": None, "d": True}], "e": "y"})) == ["2", "x", "y"]


def test_a_description_is_cut_and_never_empty() -> None:
    assert len(tool_of(SCHEMA, "x" * 5000).description) == MAX_DESCRIPTION
    assert tool_of(SCHEMA, " ").description == "weather__forecast"
