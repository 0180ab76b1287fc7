"""The tool decorator: schema from the signature, arguments judged with a sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

import bethink
from bethink.errors import BadInput
from bethink.tool import MAX_DESCRIPTION, Tool, ToolContext, arguments_of, tool


class Guest(BaseModel):
    name: str
    seats: int = Field(default=1, ge=1)


@tool(effect="write", label="Book a table at {place} for {seats}")
async def book_table(
    context: ToolContext,
    place: Annotated[str, Field(description="Where to eat.", min_length=1)],
    seats: Annotated[int, Field(ge=1, le=20)] = 2,
    mood: Literal["quiet", "lively"] = "quiet",
    guests: list[Guest] = [],  # noqa: B006 - a default of the schema
) -> str:
    """Book a table.

    Call it when a place was chosen.
    """
    return f"{place} {seats} {mood} {len(guests)}"


@pytest.mark.requirement("R31")
def test_the_schema_comes_from_the_signature() -> None:
    assert book_table.name == "book_table"
    assert book_table.description == "Book a table.\n\nCall it when a place was chosen."
    assert book_table.parameters == {
        "type": "object",
        "properties": {
            "place": {"type": "string", "description": "Where to eat.", "minLength": 1},
            "seats": {"type": "integer", "minimum": 1, "maximum": 20, "default": 2},
            "mood": {"type": "string", "enum": ["quiet", "lively"], "default": "quiet"},
            "guests": {"type": "array", "items": {"$ref": "#/$defs/Guest"}, "default": []},
        },
        "required": ["place"],
        "additionalProperties": False,
        "$defs": {
            "Guest": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "seats": {"type": "integer", "minimum": 1, "default": 1},
                },
                "required": ["name"],
            }
        },
    }


def test_functions_of_one_signature_have_schemas_of_their_own() -> None:
    def made(seats: int) -> Tool:
        @tool(effect="write", label="Wait for {seats}")
        async def wait(context: ToolContext, seats: int = seats) -> str:
            """Wait."""
            return str(seats)

        return wait

    one, same, true = made(1), made(1), made(True)
    one.parameters["properties"]["seats"]["description"] = "How many."
    assert same.parameters["properties"] == {"seats": {"type": "integer", "default": 1}}
    assert json.dumps(true.parameters["properties"]["seats"]["default"]) == "true"
    assert (one.parse("null"), true.parse("null")) == ({"seats": 1}, {"seats": True})


def test_a_signature_with_an_empty_list_is_worked_out_once_and_each_call_has_a_list_of_its_own() -> None:
    def made() -> Tool:
        @tool(effect="write", label="Wait")
        async def wait(context: ToolContext, rooms: list[str] = []) -> str:  # noqa: B006 - never changed
            """Wait."""
            return ""

        return wait

    one, same = made(), made()
    assert arguments_of(one.handler)[0] is arguments_of(same.handler)[0]
    one.parse("null")["rooms"].append("A")
    assert one.parse("null") == same.parse("null") == {"rooms": []}
    assert same.parameters["properties"]["rooms"]["default"] == []


def test_an_annotation_that_is_no_text_may_differ_each_time() -> None:
    def made(most: int) -> Tool:
        async def wait(context: ToolContext, seats: int) -> str:
            """Wait."""
            return str(seats)

        wait.__annotations__["seats"] = Annotated[int, Field(le=most)]
        return tool(effect="write", label="Wait for {seats}")(wait)

    assert [made(most).parameters["properties"]["seats"]["maximum"] for most in (1, 2)] == [1, 2]


@pytest.mark.requirement("R31")
def test_a_description_has_1_to_1024_characters() -> None:
    def described(text: str | None) -> Tool:
        async def handler(context: ToolContext) -> str:
            return ""

        handler.__doc__ = text
        return tool(effect="read", label="Look")(handler)

    assert len(described("x" * MAX_DESCRIPTION).description) == 1024
    for text in (None, "", "   ", "x" * (MAX_DESCRIPTION + 1)):
        with pytest.raises(ValueError, match="description"):
            described(text)


def test_a_label_may_name_parameters_only() -> None:
    with pytest.raises(ValueError, match="'plaice', which is no parameter"):

        @tool(effect="read", label="Look at {plaice}")
        async def look(context: ToolContext, place: str) -> str:
            """Look."""
            return place


def test_arguments_are_given_their_defaults_and_types() -> None:
    parsed = book_table.parse('{"place": "Chez Léa", "seats": "4", "guests": [{"name": "Bo"}]}')
    assert parsed == {"place": "Chez Léa", "seats": 4, "mood": "quiet", "guests": [Guest(name="Bo")]}


@pytest.mark.parametrize("written", ["", "  ", "{}", "null", " null\n"])
def test_no_arguments_can_be_written_in_several_ways(written: str) -> None:
    @tool(effect="read", label="Look")
    async def look(context: ToolContext, at: str = "the door") -> str:
        """Look."""
        return at

    assert look.parse(written) == {"at": "the door"}


@pytest.mark.requirement("R142", "R160", "R185")
@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("{}", "The arguments are not valid. place: Field required"),
        ('{"place": ""}', "The arguments are not valid. place: String should have at least 1 character"),
        (
            '{"place": "A", "seats": 21}',
            "The arguments are not valid. seats: Input should be less than or equal to 20",
        ),
        (
            '{"place": 5, "mood": "sad"}',
            (
                "The arguments are not valid. place: Input should be a valid string; "
                "mood: Input should be 'quiet' or 'lively'"
            ),
        ),
        (
            '{"place": "A", "plates": 2}',
            "The arguments are not valid. plates: Extra inputs are not permitted",
        ),
        (
            '{"place": "A", "guests": [{"name": "Bo", "seats": 0}]}',
            "The arguments are not valid. guests.0.seats: Input should be greater than or equal to 1",
        ),
        ("[]", "The arguments are not valid. arguments: Input should be an object"),
        (
            "[",
            (
                "The arguments are not valid. "
                "arguments: Invalid JSON: EOF while parsing a list at line 1 column 1"
            ),
        ),
    ],
)
def test_what_does_not_fit_is_told_by_parameter_and_reason(written: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        book_table.parse(written)
    assert str(caught.value) == says


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_whatever_a_model_writes_is_parsed_or_refused_with_a_sentence(written: str) -> None:
    try:
        parsed = book_table.parse(written)
    except BadInput as error:
        assert str(error).startswith("The arguments are not valid. ")  # noqa: PT017 - both ends are right
    else:
        assert set(parsed) == {"place", "seats", "mood", "guests"}


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(BadInput):
        book_table.parse('{"guests": ' + "[" * 100_000)


def test_a_call_is_described_in_plain_words_on_one_short_line() -> None:
    assert book_table.describe({"place": "a\nb " + "c" * 100, "seats": 2}) == (
        f"Book a table at a b {'c' * 55}… for 2"
    )


def test_a_renamed_tool_is_otherwise_the_same() -> None:
    other = book_table.renamed("reserve")
    assert (other.name, other.parameters, other.handler) == (
        "reserve",
        book_table.parameters,
        book_table.handler,
    )


NAMES_OF_OTHERS = {
    "dial/compat.py": "the classes that spec 002 names",
    "llm/scripted.py": "a model writes tools' names",
    "llm/tagged.py": "code in tags is a call of one tool",
    "recall/service.py": "the conventions of OpenTelemetry call a search so",
}
"""What is no list of Bethink's tools, though it writes their names."""


def test_no_tool_is_named_outside_of_the_tools() -> None:
    package = Path(bethink.__file__).parent
    texts = {path.relative_to(package).as_posix(): path.read_text() for path in package.rglob("*.py")}
    tools = "\n".join(text for file, text in texts.items() if file.startswith("tools/"))
    defined = set(
        re.findall(r"^    async def ([a-z]\w+)\(\s*(?:self,\s*)?context: ToolContext", tools, re.MULTILINE)
    )
    assert {"store_memory", "read_file", "create_user", "fetch_url", "execute_code"} <= defined
    # A single word, such as `backlinks`, is a word like any other.
    literal = re.compile("|".join(rf"[\"']{name}[\"']" for name in defined if "_" in name))
    named = {
        f"{file}: {found}"
        for file, text in texts.items()
        if not file.startswith(("tools/", "bench/")) and file not in NAMES_OF_OTHERS
        for found in literal.findall(text)
    }
    assert not named
