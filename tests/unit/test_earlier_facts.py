"""Facts of files that an earlier Bethink wrote, before they were about anybody or corrected anything."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bethink.app import open_app
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.memory import NewFact
from bethink.settings import Settings

pytestmark = pytest.mark.anyio

SECOND_SCHEMA = ("corrects", "told_about", "about")


def settings_in(directory: Path) -> Settings:
    return Settings(data_dir=directory, models_dir=directory, code_enabled=False, web_enabled=False)


def write_as_schema_1(file: Path) -> None:
    """What is in the file as it was before schema 2 of facts: neither its fields nor its key."""
    with closing(sqlite3.connect(file)) as connection, connection:
        rows = connection.execute("SELECT place, body FROM facts JOIN bodies USING (place)").fetchall()
        assert rows
        for place, body in rows:
            fact = {name: value for name, value in json.loads(body).items() if name not in SECOND_SCHEMA}
            connection.execute(
                "UPDATE bodies SET body = ? WHERE place = ?", (json.dumps(fact).encode(), place)
            )
        connection.execute("UPDATE facts SET schema = 1")
        indexes = connection.execute(
            "SELECT name FROM sqlite_master"
            " WHERE type = 'index' AND tbl_name = 'facts' AND sql LIKE '%about%'"
        ).fetchall()
        for (name,) in indexes:
            connection.execute(f"DROP INDEX {name}")
        connection.execute("ALTER TABLE facts DROP COLUMN about")


async def test_facts_of_schema_1_are_about_whom_their_words_say_and_can_be_corrected(tmp_path: Path) -> None:
    async with open_app(settings_in(tmp_path)) as app:
        me = await app.accounts.authenticate(audience="test")
        for content in ("User lives in Paris", "User's sister lives in Oslo"):
            await app.memory.add(me, NewFact(content))
    write_as_schema_1(tmp_path / FILE_NAME)
    async with open_app(settings_in(tmp_path)) as app:
        me = await app.accounts.authenticate(audience="test")
        (of_sister,) = (await app.memory.list(me, where={"about": "sister"})).items
        assert of_sister.record.content == "User's sister lives in Oslo"
        assert await app.memory.count(me, {"about": "owner"}) == 1
        assert [hit.text for hit in await app.recall.search(me, "sister")] == ["User's sister lives in Oslo"]
        right = NewFact("User's sister lives in Bergen", corrects=(of_sister.record.id,))
        assert (await app.memory.add(me, right)).change == "corrected"
        (wrong,) = await app.memory.get(me, [of_sister.record.id])
        assert wrong is not None
        assert wrong.state == "corrected"
    async with open_app(settings_in(tmp_path)) as app:
        me = await app.accounts.authenticate(audience="test")
        assert await app.memory.count(me, {"state": "corrected"}) == 1
        assert [hit.text for hit in await app.recall.search(me, "sister")] == [right.content]
