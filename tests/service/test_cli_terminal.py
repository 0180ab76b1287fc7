"""`bethink chat` before a terminal, in another process: typing, Ctrl-C, Ctrl-D, approvals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.cli.terminal import exact, one_line, printable
from bethink.llm.scripted import Rule, ScriptedCall
from tests.command_line import CommandLine, play

pytestmark = pytest.mark.timeout(60)
_NEVER_CLOSED = """
import atexit, sys, threading
from contextlib import asynccontextmanager
import anyio
from bethink import cli
from bethink.cli import session

open_app = session.open_app

@asynccontextmanager
async def never_closed(settings):
    async with open_app(settings) as app:
        yield app
        print("closing", flush=True)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(threading.Event().wait)

session.open_app = never_closed
atexit.register(print, "Python ends while threads are at work")
sys.exit(cli.main(["memory", "list"]))
"""
FORGET = Rule(when="everything", after_tool=False, tool_calls=(ScriptedCall("delete_all_memories"),))


def test_messages_are_typed_until_ctrl_d(bethink: CommandLine) -> None:
    with bethink.terminal("chat") as terminal:
        terminal.until("› ")
        terminal.type("My name is Alice\n")
        terminal.until("Remembered: User's name is Alice.")
        terminal.until("› ")
        terminal.type("\n/recall my name\n")
        terminal.until("Alice")
        terminal.until("› ")
        assert terminal.leave() == 0
        assert "conversation " in terminal.shown
        assert "\x1b[2m" in terminal.shown, "quiet lines are dim"
        assert terminal.shown.count("Recall goes by words only") == 1


def test_pasted_and_continued_lines_are_one_message_and_its_answer_is_rendered(
    bethink: CommandLine, scripted: ScriptedProcess
) -> None:
    play(scripted, Rule(text="# Plan\n\n**Pack** the `bag`."))
    with bethink.terminal("chat") as terminal:
        terminal.until("› ")
        terminal.type("\x1b[200~one\ntwo\x1b[201~\n")
        terminal.until("\x1b[1mPack\x1b[0m the \x1b[36mbag\x1b[0m.")
        terminal.until("› ")
        terminal.type("three \\\n")
        terminal.until("… ")
        terminal.type("four\n")
        terminal.until("Pack")
        terminal.until("› ")
        terminal.type("/model nonsense\n")
        terminal.until("There is no model 'nonsense'")
        terminal.type("/conversation new\n")
        terminal.until("A new conversation begins")
        terminal.type("five\n")
        terminal.until("Pack")
        terminal.until("› ")
        assert terminal.leave() == 0
        assert "\x1b[1mPlan\x1b[0m" in terminal.shown
    newest, older = bethink("conversations", "list", "--json").documents
    said = [
        one["content"]
        for one in bethink("conversations", "show", older["id"], "--json").documents
        if one["role"] == "user"
    ]
    assert said == ["one\ntwo", "three \nfour"]
    assert newest["messages"] == 2


def test_the_arrow_keys_bring_back_what_was_said(bethink: CommandLine) -> None:
    conversation = bethink("chat", "hello there").conversation
    with bethink.terminal("chat", "--conversation", conversation) as terminal:
        terminal.until("› ")
        terminal.type("\x1b[A")
        terminal.until("hello there")
        assert terminal.process.poll() is None


def test_ctrl_c_stops_the_answer_and_not_the_program(bethink: CommandLine, scripted: ScriptedProcess) -> None:
    play(
        scripted,
        Rule(when="long", fault="hang_midstream", text="Once upon a time there was a king"),
        Rule(text="Here."),
    )
    with bethink.terminal("chat") as terminal:
        terminal.until("› ")
        terminal.type("a long story\n")
        terminal.until("Once upon")
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("Stopped.")
        terminal.until("› ")
        terminal.type("are you there\n")
        terminal.until("Here.")
        terminal.until("› ")
        terminal.interrupt_until("Ctrl-D leaves")
        terminal.until("› ")
        assert terminal.leave() == 0


def test_ctrl_c_ends_a_single_question_and_keeps_what_was_said(
    bethink: CommandLine, scripted: ScriptedProcess
) -> None:
    play(scripted, Rule(fault="hang_midstream", text="Once upon a time there was a king"))
    with bethink.terminal("chat", "a long story") as terminal:
        terminal.until("Once upon")
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("Stopped.")
        assert terminal.process.wait(30) == 130
    assert "It stopped here: …Once upon" in bethink("chat", "--last").err


def test_ctrl_c_pressed_again_and_again_ends_what_does_not_close(plain: CommandLine) -> None:
    program = [sys.executable, "-c", _NEVER_CLOSED]
    with subprocess.Popen(program, env=os.environ | plain.environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while b"closing" not in process.stdout.readline():
            assert process.poll() is None
        for _ in range(100):
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
                break
        assert process.returncode == 130
        assert process.stdout.read() == b""


def test_an_approval_is_asked_for_and_obeyed(bethink: CommandLine, scripted: ScriptedProcess) -> None:
    bethink("memory", "add", "User likes tea.")
    play(scripted, FORGET, Rule(when="everything", text="So be it."))
    with bethink.terminal("chat") as terminal:
        terminal.until("› ")
        for answer, ending in (("maybe\nn\n", "So be it."), ("y\n", "So be it.")):
            terminal.type("forget everything\n")
            terminal.until("This cannot be undone.")
            terminal.until("Run it?")
            assert bethink.facts() == {"User likes tea."}
            terminal.type(answer)
            terminal.until(ending)
            terminal.until("› ")
        assert terminal.leave() == 0
    assert bethink.facts() == set()


def test_a_call_that_waited_is_decided_later(bethink: CommandLine, scripted: ScriptedProcess) -> None:
    bethink("memory", "add", "User likes tea.")
    play(scripted, FORGET, Rule(when="everything", text="So be it."))
    conversation = bethink("chat", "forget everything").conversation
    with bethink.terminal("chat", "--conversation", conversation) as terminal:
        terminal.until("Run it?")
        terminal.type("later\n")
        terminal.until("waiting for your decision")
        terminal.until("› ")
        assert terminal.leave() == 0
    assert bethink.facts() == {"User likes tea."}
    with bethink.terminal("chat", "--conversation", conversation) as terminal:
        terminal.until("Run it?")
        terminal.type("y\n")
        terminal.until("So be it.")
    assert bethink.facts() == set()


def test_forgetting_everything_asks_for_the_word(bethink: CommandLine) -> None:
    bethink("memory", "add", "User likes tea.")
    for answer, left in (("yes\n", {"User likes tea."}), ("forget\n", set())):
        with bethink.terminal("memory", "forget", "--all") as terminal:
            terminal.until("Type 'forget'")
            terminal.type(answer)
            terminal.process.wait(30)
        assert bethink.facts() == left


def test_a_memory_is_corrected_in_the_editor(bethink: CommandLine, tmp_path: Path) -> None:
    id = bethink.added("User lives in Rome.")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Rome/Paris/ "$1"\n')
    editor.chmod(0o700)
    with bethink.setting(EDITOR=str(editor)).terminal("memory", "edit", id) as terminal:
        terminal.until("Changed: User lives in Paris.")
    assert bethink.facts() == {"User lives in Paris."}


def test_neither_an_answer_nor_bethink_without_colours_commands_the_terminal(
    bethink: CommandLine, scripted: ScriptedProcess
) -> None:
    play(scripted, Rule(text="be\x1b]0;owned\x07fore\x9b2Jafter"))
    with bethink.setting(NO_COLOR="1").terminal("chat", "hello") as terminal:
        terminal.until("be]0;ownedfore2Jafter")
        terminal.until("conversation ")
        assert "\x1b" not in terminal.shown


def test_what_is_to_be_approved_shows_what_is_invisible() -> None:
    assert exact('{"a":"x\u202ey\x1b[2J"}') == r'{"a":"x\u202ey\x1b[2J"}'


def test_a_line_is_short_and_one_line() -> None:
    assert one_line("a\n b\t\x07c") == "a b c"
    assert one_line("x" * 300, 10) == "x" * 9 + "…"
    assert printable("a\r\n\tb\x00") == "a\n\tb"


def test_a_password_is_typed_twice_and_ctrl_d_changes_nothing(plain: CommandLine) -> None:
    plain("users", "add", "ann")
    with plain.terminal("users", "password", "ann") as terminal:
        terminal.until("New password: ")
        terminal.type("correct horse battery\n")
        terminal.until("Again: ")
        terminal.type("correct horse battery\n")
        terminal.until("ann has a new password")
    with plain.terminal("users", "password", "ann") as terminal:
        terminal.until("New password: ")
        assert terminal.leave() == 2
        assert "nothing was changed" in terminal.shown
        assert "Traceback" not in terminal.shown
    assert "1 live key," in plain("users", "key", "add", "ann").err + plain("users", "list").out
    plain("users", "key", "add", "ann")
    assert "2 live keys," in plain("users", "list").out
