"""The tables of `bethink.sqlite3`. `schema` applies what a file has not got yet.

Migrations are frozen once released: a change is a new one at the end. The
file's `user_version` counts those applied. A collection needs a table here of
its own name, with its keys and `place` as columns and an index for each scan
that is to be quick: (owner, equal keys, order, id). A table holds no text of
people's: that goes to `bodies` (see `tables`).
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.engines.sqlite.index import body_of
from bethink.engines.sqlite.tables import Seal, blank, keep_padded
from bethink.search.analysis import Analyzer
from bethink.search.entry import Entry, Names, quantized

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

_FIRST = """
CREATE TABLE conversations (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    archived INTEGER, updated_at INTEGER, project TEXT, body BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX conversations_archived ON conversations (owner, archived, updated_at, id);

CREATE TABLE messages (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    conversation TEXT, position INTEGER, body BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX messages_position ON messages (owner, conversation, position, id);

CREATE TABLE runs (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    conversation TEXT, state TEXT, ended_at INTEGER, body BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX runs_conversation ON runs (owner, conversation, ended_at, id);
CREATE INDEX runs_state ON runs (owner, state, ended_at, id);

CREATE TABLE journal (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    run TEXT, sequence INTEGER, body BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX journal_sequence ON journal (owner, run, sequence, id);

CREATE TABLE facts (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    state TEXT, category TEXT, digest TEXT, weight INTEGER, created_at INTEGER, project TEXT,
    body BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX facts_created ON facts (owner, created_at, id);
CREATE INDEX facts_state ON facts (owner, state, created_at, id);
CREATE INDEX facts_weight ON facts (owner, state, weight, id);
CREATE INDEX facts_digest ON facts (owner, digest);
CREATE INDEX facts_category ON facts (owner, category, created_at, id);

CREATE TABLE meta (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    body BLOB NOT NULL, UNIQUE (owner, id));

CREATE TABLE index_items (
    change INTEGER PRIMARY KEY, owner TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
    at INTEGER NOT NULL, conversation TEXT, project TEXT, speaker TEXT, analysis INTEGER NOT NULL,
    terms TEXT NOT NULL, model TEXT, text TEXT NOT NULL, vector BLOB, UNIQUE (owner, id));
CREATE INDEX index_items_model ON index_items (owner, model, at, id);
CREATE TABLE index_tombstones (change INTEGER PRIMARY KEY, owner TEXT NOT NULL, id TEXT NOT NULL);
CREATE INDEX index_tombstones_owner ON index_tombstones (owner);
CREATE TABLE index_state (change INTEGER NOT NULL, floor INTEGER NOT NULL);
INSERT INTO index_state VALUES (0, 0);
"""

_SLOTS = """
ALTER TABLE facts ADD COLUMN slot TEXT;
ALTER TABLE facts ADD COLUMN derived INTEGER;
CREATE INDEX facts_slot ON facts (owner, slot, state, id);
CREATE INDEX facts_derived ON facts (owner, derived, state, id);
"""

_BODIES_APART = """
CREATE TABLE bodies (place INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE blanks (
    length INTEGER NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (length, place)) WITHOUT ROWID;
CREATE TABLE seal (secret BLOB NOT NULL);

CREATE TABLE new_conversations (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    archived, updated_at, project, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE new_messages (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    conversation, position, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE new_runs (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    conversation, state, ended_at, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE new_journal (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    run, sequence, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE new_facts (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    state, category, digest, weight, created_at, project, slot, derived, place INTEGER NOT NULL,
    UNIQUE (owner, id));
CREATE TABLE new_meta (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE new_index_items (
    change INTEGER PRIMARY KEY, owner TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
    at INTEGER NOT NULL, analysis INTEGER NOT NULL, model TEXT, vector INTEGER NOT NULL,
    terms INTEGER NOT NULL, place INTEGER NOT NULL, text INTEGER NOT NULL, UNIQUE (owner, id));
"""

_BODIES_INDEXED = """
CREATE INDEX conversations_archived ON conversations (owner, archived, updated_at, id);
CREATE INDEX messages_position ON messages (owner, conversation, position, id);
CREATE INDEX runs_conversation ON runs (owner, conversation, ended_at, id);
CREATE INDEX runs_state ON runs (owner, state, ended_at, id);
CREATE INDEX journal_sequence ON journal (owner, run, sequence, id);
CREATE INDEX facts_created ON facts (owner, created_at, id);
CREATE INDEX facts_state ON facts (owner, state, created_at, id);
CREATE INDEX facts_weight ON facts (owner, state, weight, id);
CREATE INDEX facts_digest ON facts (owner, digest);
CREATE INDEX facts_category ON facts (owner, category, created_at, id);
CREATE INDEX facts_slot ON facts (owner, slot, state, id);
CREATE INDEX facts_derived ON facts (owner, derived, state, id);
CREATE INDEX index_items_owner ON index_items (owner);
CREATE INDEX index_items_model ON index_items (owner, model, at, id);
"""

_FORGETTING = """
CREATE TABLE sightings (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    fact, conversation, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX sightings_fact ON sightings (owner, fact, id);
CREATE INDEX sightings_conversation ON sightings (owner, conversation, id);
CREATE TABLE forgettings (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    state, at, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX forgettings_state ON forgettings (owner, state, at, id);
CREATE INDEX forgettings_at ON forgettings (owner, at, id);
"""

_REPETITIONS = """
DROP INDEX facts_digest;
CREATE INDEX facts_digest ON facts (owner, digest, id);
"""
"""Without the id at its end SQLite reads the table in the order of ids instead."""

_STEPS = """
CREATE TABLE memory_steps (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    at, change, undo, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX memory_steps_at ON memory_steps (owner, at, id);
CREATE INDEX memory_steps_change ON memory_steps (owner, change, at, id);
CREATE INDEX memory_steps_undo ON memory_steps (owner, undo, at, id);
"""

_KEYS = {
    "conversations": ("archived", "updated_at", "project"),
    "messages": ("conversation", "position"),
    "runs": ("conversation", "state", "ended_at"),
    "journal": ("run", "sequence"),
    "facts": ("state", "category", "digest", "weight", "created_at", "project", "slot", "derived"),
    "meta": (),
}

_SECRET_BYTES = 16

_OLD_ITEMS = """
SELECT change, owner, id, kind, at, analysis, model, vector, terms, conversation, project, speaker, text
    FROM index_items ORDER BY change
"""


def _statements(script: str, connection: sqlite3.Connection) -> None:
    for statement in script.split(";\n"):
        connection.execute(statement)


def _bodies_apart(connection: sqlite3.Connection) -> None:
    """Texts and vectors into a table whose rows never move, so that they can be blotted out."""
    _statements(_BODIES_APART, connection)
    secret = os.urandom(_SECRET_BYTES)
    connection.execute("INSERT INTO seal VALUES (?)", (secret,))
    seal = Seal(secret)
    for table, keys in _KEYS.items():
        columns = ("owner", "id", "version", "schema", *keys)
        rows = connection.execute(f"SELECT {', '.join(columns)}, body FROM {table} ORDER BY rowid")  # noqa: S608 - our own names
        places = ", ".join("?" * (len(columns) + 1))
        for row in rows:
            kept = (*row[:4], *map(seal, row[4:-1]), keep_padded(connection, row[-1]))
            connection.execute(f"INSERT INTO new_{table} VALUES ({places})", kept)  # noqa: S608 - the same
    analyzer = Analyzer()
    for item in connection.execute(_OLD_ITEMS):
        _move_item(connection, item, analyzer)
    for table in (*_KEYS, "index_items"):
        # What is dropped is overwritten: `secure_delete` is on.
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"ALTER TABLE new_{table} RENAME TO {table}")
    _statements(_BODIES_INDEXED, connection)


def _move_item(connection: sqlite3.Connection, item: tuple[Any, ...], analyzer: Analyzer) -> None:
    *_, model, vector, terms, conversation, project, speaker, text = item
    if vector:
        import numpy as np

        vector = quantized(np.frombuffer(vector, "<f4"))
    names = Names(conversation, project, speaker)
    entry = Entry("", "", 0, names, analyzer.digests(terms.split()), model, vector or b"")
    places = (keep_padded(connection, body_of(entry)), keep_padded(connection, msgspec.json.encode(text)))
    values = (*item[:6], model, len(entry.vector), len(entry.terms), *places)
    connection.execute("INSERT INTO new_index_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)


_DOUBTED = """
ALTER TABLE facts ADD COLUMN doubted;
CREATE INDEX facts_doubted ON facts (owner, doubted, created_at, id);
"""

_PEOPLE = """
CREATE TABLE people (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    created_at, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX people_created_at ON people (owner, created_at, id);
CREATE TABLE people_emails (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
"""

_TOOLS = """
CREATE TABLE files (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    conversation, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX files_conversation ON files (owner, conversation, id);
CREATE TABLE tool_rules (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE tool_uses (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    tool, conversation, at, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX tool_uses_tool ON tool_uses (owner, tool, at, id);
CREATE INDEX tool_uses_conversation ON tool_uses (owner, conversation, at, id);
CREATE INDEX tool_uses_at ON tool_uses (owner, at, id);
"""

_BRANCHES = """
ALTER TABLE messages ADD COLUMN branch INTEGER NOT NULL DEFAULT 0;
CREATE INDEX messages_branch ON messages (owner, conversation, branch, position, id);
ALTER TABLE conversations ADD COLUMN temporary INTEGER NOT NULL DEFAULT 0;
DROP INDEX conversations_archived;
CREATE INDEX conversations_archived ON conversations (owner, temporary, archived, updated_at, id);
CREATE INDEX conversations_project ON conversations (owner, temporary, archived, project, updated_at, id);
CREATE INDEX conversations_temporary ON conversations (owner, temporary, updated_at, id);
"""

_ACCOUNTS = """
CREATE TABLE users (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE access_keys (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    user, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE sign_ins (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    user, expires_at, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX sign_ins_expires_at ON sign_ins (owner, expires_at, id);
CREATE TABLE key_uses (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE accounts_state (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
"""

_SHARING = """
CREATE TABLE outgoing (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    root, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX outgoing_root ON outgoing (owner, root, id);
CREATE TABLE shared (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
"""

_THREADS = """
CREATE TABLE threads (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    said, conversation, at, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX threads_said ON threads (owner, said, at, id);
CREATE INDEX threads_conversation ON threads (owner, conversation, id);
"""


def without_unkeyed_digests(connection: sqlite3.Connection) -> None:
    """Away with digests by which whoever has the file could test a guess of what was said.

    Histories of before lead to no conversation any more; responses stay.
    """
    (secret,) = connection.execute("SELECT secret FROM seal").fetchone()
    response = (Seal(secret)("response"),)
    blank(connection, ("SELECT place FROM threads WHERE said IS NOT ?", response))
    connection.execute("DELETE FROM threads WHERE said IS NOT ?", response)


_VAULT = """
CREATE TABLE vaults (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE pages (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    change, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX pages_change ON pages (owner, change, id);
CREATE TABLE page_places (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE TABLE page_parts (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    page, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX page_parts_page ON page_parts (owner, page, id);
CREATE TABLE page_versions (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    page, at, content, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX page_versions_page ON page_versions (owner, page, at, id);
CREATE INDEX page_versions_at ON page_versions (owner, at, id);
CREATE INDEX page_versions_content ON page_versions (owner, content, id);
CREATE TABLE page_contents (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
"""

_FILTERS = """
CREATE TABLE vault_filters (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    place INTEGER NOT NULL, UNIQUE (owner, id));
"""

_IMPORTS = """
CREATE TABLE imports (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    at, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX imports_at ON imports (owner, at, id);
CREATE TABLE imports_taken (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    batch, same, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX imports_taken_batch ON imports_taken (owner, batch, id);
CREATE INDEX imports_taken_same ON imports_taken (owner, same, id);
CREATE TABLE imports_grown (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    batch, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX imports_grown_batch ON imports_grown (owner, batch, id);
"""

_MIRROR = """
CREATE TABLE mirror_lines (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    fact, path, state, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX mirror_lines_fact ON mirror_lines (owner, fact, id);
CREATE INDEX mirror_lines_path ON mirror_lines (owner, path, id);
CREATE INDEX mirror_lines_state ON mirror_lines (owner, state, id);
CREATE TABLE mirror_refusals (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,
    path, place INTEGER NOT NULL, UNIQUE (owner, id));
CREATE INDEX mirror_refusals_path ON mirror_refusals (owner, path, id);
"""


def journal_in_order(connection: sqlite3.Connection) -> None:
    """Give journal entries ids of fixed length, that sort as their places do: 5.1050 stood before 5.7."""
    rows = connection.execute(
        "SELECT journal.rowid, id, body, place FROM journal JOIN bodies USING (place)"
    ).fetchall()
    for number, id, body, place in rows:
        run, _, at = id.rpartition(":")
        sequence, _, characters = at.partition(".")
        new = f"{run}:{int(sequence):018}.{int(characters):018}"
        kept = keep_padded(connection, msgspec.json.encode(msgspec.json.decode(body) | {"id": new}), place)
        connection.execute("UPDATE journal SET id = ?, place = ? WHERE rowid = ?", (new, kept, number))


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    partial(_statements, _FIRST),
    partial(_statements, _SLOTS),
    _bodies_apart,
    partial(_statements, _FORGETTING),
    partial(_statements, _REPETITIONS),
    partial(_statements, _STEPS),
    partial(_statements, _DOUBTED),
    partial(_statements, _PEOPLE),
    partial(_statements, _TOOLS),
    partial(_statements, _BRANCHES),
    partial(_statements, _ACCOUNTS),
    partial(_statements, _SHARING),
    partial(_statements, _THREADS),
    without_unkeyed_digests,
    partial(_statements, _VAULT),
    partial(_statements, _FILTERS),
    partial(_statements, _IMPORTS),
    partial(_statements, _MIRROR),
    journal_in_order,
)
