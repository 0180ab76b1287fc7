"""`bethink vault ask`: the answer on standard output, what was done for it beside it."""

from __future__ import annotations

import os

import pytest
from inline_snapshot import snapshot

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.llm.scripted import Rule, ScriptedCall
from tests.command_line import CommandLine, masked, play
from tests.sample_vaults import client_success, lay_out

pytestmark = pytest.mark.timeout(30)

READ = ScriptedCall("read_file", {"file_path": "accounts/coppervale.md"})
QUESTION = "When does Coppervale renew?"


@pytest.fixture
def asked(bethink: CommandLine, scripted: ScriptedProcess) -> CommandLine:
    lay_out(client_success(), bethink.data / "vault")
    play(
        scripted,
        Rule(after_tool=True, text="Coppervale renews on 2030-11-15."),
        Rule(reasoning="I read its page.", tool_calls=(READ,)),
    )
    return bethink


def test_an_answer_names_the_pages_it_was_read_from(asked: CommandLine) -> None:
    ended = asked("vault", "ask", "-v", QUESTION)
    assert (ended.code, ended.out) == (0, "Coppervale renews on 2030-11-15.\n")
    for part in (
        "I read its page.",
        "✓ Read accounts/coppervale.md",
        "memory used: [accounts/coppervale.md]",
    ):
        assert part in ended.err
    quiet = asked("vault", "ask", QUESTION)
    assert masked(quiet.err) == snapshot("""\
✓ Read accounts/coppervale.md (<took>)
memory used: accounts/coppervale.md
""")


@pytest.mark.requirement("C18")
def test_a_model_that_writes_in_tags_answers_by_code(asked: CommandLine, scripted: ScriptedProcess) -> None:
    code = 'import re\ndate = re.search("renewal_date: (.*)", read_file("accounts/coppervale.md"))[1]'
    play(
        scripted,
        Rule(
            when="2030-11-15",
            text="<think>So.</think><python></python><reply>On 2030-11-15.</reply>",
        ),
        Rule(when="<result>", text="<reply>The code did not run.</reply>"),
        Rule(text=f"<think>I look.</think>\n<python>\n{code}\n</python>"),
    )
    ended = asked("vault", "ask", QUESTION, "--model", "openai:mem-agent")
    if "no tool 'execute_python'" in ended.err and os.environ.get("CI") != "true":
        pytest.skip("no sandbox works here")
    assert ended.out == "On 2030-11-15.\n"
    assert "memory used: accounts/coppervale.md" in ended.err


def test_as_json_each_event_is_a_line(asked: CommandLine) -> None:
    ended = asked("vault", "ask", "--json", "--filter", "no names", "-", piped=QUESTION)
    kinds = [document["kind"] for document in ended.documents]
    assert kinds[-2:] == ["memory_used", "run_done"]
    assert ended.documents[-2]["ids"] == ["accounts/coppervale.md"]


def test_without_a_model_its_exit_code_says_so(plain: CommandLine) -> None:
    lay_out(client_success(), plain.data / "vault")
    ended = plain("vault", "ask", QUESTION, "--model", "")
    if ended.code == 0:
        pytest.skip("a model runs on this machine")
    assert ended.code == 3
    assert "No model is set, and none was found" in ended.err
