"""Suggested memories, from the turn that tells them to the owner's yes or no, in the terminal."""

from __future__ import annotations

import json

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.cli.talk import TerminalTalk
from bethink.llm.scripted import Rule
from tests.command_line import CommandLine, play

pytestmark = pytest.mark.timeout(60)

LOOKED_FOR = '"message":'
"""What a request for facts has in its message."""


def suggesting(bethink: CommandLine, scripted: ScriptedProcess, *contents: str) -> CommandLine:
    """The command line with a model that proposes these facts for every turn."""
    found = json.dumps({"facts": [{"content": content} for content in contents]})
    play(scripted, Rule(when=LOOKED_FOR, text=found), Rule(text="I see."))
    return bethink.setting(BETHINK_EXTRACTION="suggest")


def listed(bethink: CommandLine, state: str) -> list[str]:
    documents = bethink("memory", "list", "--state", state, "--json").documents
    return [document["content"] for document in documents]


def test_one_question_waits_for_what_it_tells(bethink: CommandLine, scripted: ScriptedProcess) -> None:
    bethink = suggesting(bethink, scripted, "User plays the cello")
    ended = bethink("chat", "I play the cello")
    assert ended.code == 0
    assert ended.out == "I see.\n"
    assert "memory updated: Suggested: User plays the cello" in ended.err
    assert listed(bethink, "suggested") == ["User plays the cello"]


def test_what_was_learnt_before_anybody_waited_for_it_is_told(
    bethink: CommandLine, scripted: ScriptedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = TerminalTalk.wait_for_facts

    def late(talk: TerminalTalk) -> None:
        talk.session.call(talk.session.app.post_turn.finished)
        wait(talk)

    monkeypatch.setattr(TerminalTalk, "wait_for_facts", late)
    ended = suggesting(bethink, scripted, "User plays the cello")("chat", "I play the cello")
    assert ended.err.count("memory updated: Suggested: User plays the cello") == 1


def test_suggestions_are_listed_and_decided_by_their_ids(
    bethink: CommandLine, scripted: ScriptedProcess
) -> None:
    bethink = suggesting(bethink, scripted, "User plays the cello", "User keeps two snakes")
    bethink("chat", "I play the cello and keep two snakes")
    cello, snakes = bethink("memory", "review", "--json").documents
    assert bethink("memory", "review", "--accept", cello["id"]).out.startswith("Accepted: User plays")
    rejected = bethink("memory", "review", "--reject", snakes["id"])
    assert rejected.out.startswith("Rejected: User keeps")
    assert listed(bethink, "active") == ["User plays the cello"]
    assert "No memory waits" in bethink("memory", "review").err
    assert bethink("memory", "review", "--accept", snakes["id"]).code == 2
    assert bethink("memory", "undo", f"rejected:{snakes['id']}").code == 0
    assert "User keeps two snakes" in bethink("memory", "review").out


def test_before_a_terminal_each_is_asked_about(bethink: CommandLine, scripted: ScriptedProcess) -> None:
    bethink = suggesting(
        bethink, scripted, "User plays the cello", "User keeps two snakes", "User hates rain"
    )
    bethink("chat", "I play the cello, keep two snakes and hate rain")
    with bethink.terminal("memory", "review") as terminal:
        terminal.until("1 of 3")
        terminal.until("Accept it?")
        terminal.type("what\n")
        terminal.until("Answer y, n, l or q.")
        terminal.type("y\n")
        terminal.until("2 of 3")
        terminal.until("Accept it?")
        terminal.type("n\n")
        terminal.until("3 of 3")
        terminal.until("Accept it?")
        assert terminal.leave() == 0
    assert len(listed(bethink, "active")) == 1
    assert len(listed(bethink, "suggested")) == 1
