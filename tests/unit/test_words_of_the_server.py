"""What the server says to people: the page has it in German, sentence by sentence.

The server's sentences are English. The page finds them in its catalogue as they stand, or by the places that
they fill in (`ui/src/i18n/sentences.ts`), so each that is new needs a line there.
"""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from bethink import errors
from bethink.agent.request import BOUND_REACHED
from bethink.llm.providers import PROVIDERS
from bethink.settings.catalogue import SETTINGS
from bethink.settings.groups import GROUPS
from bethink.tool import Tool
from tests.house import open_house

SOURCE = Path(errors.__file__).parent
GERMAN = Path(__file__).parents[2] / "ui" / "src" / "i18n" / "de"

_OF_PROGRAMS = (
    # Doors that no person of the page meets, and what only a terminal says.
    *("bench", "cli", "dial", "engines", "ical", "mcp_server", "web/dav.py", "web/server.py", "web/v1"),
    *("accounts/setup_key.py", "agent/client_tools.py", "agent/history_match.py", "web/endpoints.py"),
    *("accounts/grants.py", "web/oauth.py"),
    # What a model reads as the result of its call.
    *("agent/subagent.py", "calendar/free_time.py", "documents/names.py", "images", "internet", "tool.py"),
    *("tools", "recall/conversation_memory.py", "recall/service.py", "vault/search", "calendar/words.py"),
    # Files and requests that people do not write by hand.
    *("artifacts/feature.py", "artifacts/records.py", "calendar/fields.py", "calendar/series.py"),
    *(
        "calendar/vevent.py",
        "calendar_sync/feature.py",
        "calendar_sync/caldav_objects.py",
        "calendar_sync/webdav.py",
    ),
    *("conversations/entries.py", "documents/archive.py", "documents/kb_build.py", "documents/kb_config.py"),
    *("documents/upkeep.py", "documents/uploads.py", "embeddings", "export/collection.py"),
    *("export/conversations.py", "export/records.py", "export/service.py", "export/table.py"),
    *("forgetting/selection.py", "json_bounds.py", "memory/batch.py", "memory/gate.py", "memory/upkeep.py"),
    *(
        "memory/terms.py",
        "migration.py",
        "recurrence.py",
        "schedules/due_times.py",
        "secrets_at_rest.py",
        "sealing.py",
        "maintenance/key_change.py",
        "settings",
        "store",
    ),
    *(
        "web/calendar.py",
        "web/files.py",
        "web/forgetting.py",
        "web/memories.py",
        "web/security",
        "web/tasks.py",
    ),
    *("web/uploads.py", "web/vault/pages.py", "web/vault/search.py", "agent/removal.py", "llm/scripted.py"),
)
"""Files and packages whose errors are not said to somebody who uses the page; of all others each is."""
_SINGLE = {
    "calendar/service.py: duration_minutes: give whole minutes, more than 0.",
    "calendar/service.py: scope={} needs the id of one instance, such as {}@{}.",
    "clock.py: {} is no id.",
    "forgetting/service.py: There is no kind {}: there are {}.",
    "llm/openai_answer.py: {} {}. Ask again.",
    "vault/filters/rules.py: There is no action {}: there are {}.",
}
"""What a program is told in a file that speaks to people otherwise, and what has no words of its own."""
_OWN_WORDS = re.compile(r"[a-z]{2,}", re.IGNORECASE)
_PLACES = re.compile(r"(?:\{\}){2,}")
_PLACE = re.compile(r"\{[^{}]*\}")


@cache
def _german() -> Mapping[str, str]:
    found = {}
    for file in GERMAN.glob("*.json"):
        found |= json.loads(file.read_text("utf-8"))
    return found


def _bare(sentence: str) -> str:
    """Without the names of its places, and with one where several stand together."""
    return _PLACES.sub("{}", _PLACE.sub("{}", sentence))


@cache
def _known() -> frozenset[str]:
    return frozenset(map(_bare, _german()))


def test_each_setting_place_and_provider_is_said_in_german() -> None:
    titled = (*SETTINGS.values(), *GROUPS)
    said = {each.title for each in titled} | {each.description for each in (*titled, *PROVIDERS.values())}
    assert said - _german().keys() <= {""}


def _kinds(of: type[errors.BethinkError]) -> Iterator[type[errors.BethinkError]]:
    yield of
    for kind in of.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield from _kinds(kind)


def test_each_code_of_an_error_and_its_sentence_are_said_in_german() -> None:
    kinds = [*_kinds(errors.BethinkError)]
    assert len(kinds) > 30
    titles = {kind.code.replace("_", " ").capitalize() for kind in kinds}
    sentences = {" ".join((kind.__doc__ or "").partition("\n\n")[0].split()) for kind in kinds}
    assert (titles | sentences | set(BOUND_REACHED.values())) - _german().keys() == set()


def _text(node: ast.expr, constants: Mapping[str, str]) -> Iterator[str]:
    """The sentences that an expression may be, with `{}` for what is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            yield _bare(text)
        case ast.JoinedStr(values=values):
            yield _bare("".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in values))
        case ast.Name(id=name) if name in constants:
            yield constants[name]
        case ast.Call(func=ast.Attribute(value=inner, attr="format")):
            yield from _text(inner, constants)
        case ast.IfExp(body=one, orelse=other):
            yield from chain(_text(one, constants), _text(other, constants))
        case _:
            pass


def _raised(tree: ast.Module) -> Iterator[str]:
    """The sentences of the errors that a module makes."""
    names = {kind.__name__ for kind in _kinds(errors.BethinkError)}
    constants: dict[str, str] = {}
    for line in tree.body:
        match line:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                constants.update((name, text) for text in _text(value, {}))
            case _:
                pass
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[said, *_]) if name in names:
                yield from _text(said, constants)
            case _:
                pass


def _errors_of_people() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if any(name == one or name.startswith(f"{one}/") for one in _OF_PROGRAMS):
            continue
        for sentence in _raised(ast.parse(path.read_text("utf-8"))):
            if len(_OWN_WORDS.findall(sentence)) > 1:
                yield f"{name}: {sentence}"


def test_each_sentence_of_an_error_that_people_read_is_said_in_german() -> None:
    said = {*_errors_of_people()}
    assert len(said) > 300
    assert [one for one in sorted(said - _SINGLE) if one.partition(": ")[2] not in _known()] == []
    assert not _SINGLE - said, "is not said any more"


def _brief(tool: Tool) -> str:
    """The first sentence of its description, as the page shows it."""
    found = re.match(r".+?[.!?](?=\s|$)", tool.description.strip(), re.DOTALL)
    return " ".join(found.group().split()) if found else tool.description.strip()


@pytest.mark.anyio
async def test_each_tool_and_what_it_does_are_said_in_german() -> None:
    async with open_house(graph_enabled=True) as house:
        tools = [tool for tool in house.app.toolbox.all if not tool.source]
    assert len(tools) > 25
    labels = {_bare(tool.label) for tool in tools}
    assert labels - _known() == set()
    assert {_brief(tool) for tool in tools} - _german().keys() == set()


def test_what_german_fills_in_is_what_the_sentence_fills_in() -> None:
    for file in GERMAN.glob("server-*.json"):
        for sentence, german in json.loads(file.read_text("utf-8")).items():
            places = [
                sorted(name for _, name, _, _ in string.Formatter().parse(one) if name)
                for one in (sentence, german)
            ]
            assert places[0] == places[1], sentence
