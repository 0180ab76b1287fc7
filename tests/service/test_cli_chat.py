"""`bethink chat`, through `main`, against a scripted model in another process."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from bethink.events import Place
from bethink.llm.scripted import Rule, ScriptedCall
from tests.command_line import CommandLine, masked, play

PARIS = "I live in Paris"


def test_an_answer_goes_to_stdout_and_what_was_done_for_it_to_stderr(bethink: CommandLine) -> None:
    ended = bethink("chat", *PARIS.split())
    assert ended.code == 0
    assert masked(ended.out) == snapshot(
        "User lives in Paris. The tools answered: Memory stored: User lives in Paris. (…)\n"
    )
    assert masked(ended.err) == snapshot("""\
warning: Recall goes by words only
memory updated: Remembered: User lives in Paris. (undo: bethink memory undo added:<1>)
✓ Remember: User lives in Paris. (<took>)
conversation <2>
""")


def test_a_new_conversation_remembers(bethink: CommandLine) -> None:
    bethink("chat", PARIS)
    ended = bethink("chat", "Where do I live?")
    assert masked(ended.out) == snapshot("From what I remember: User lives in Paris. (…)\n")
    assert masked(ended.err) == snapshot("""\
warning: Recall goes by words only
memory recalled: User lives in Paris. · User lives in Paris. The tools answered: Memory stored: Use…
conversation <1>
""")


def test_of_a_change_the_fact_that_holds_and_the_one_that_it_replaced_are_told_apart(
    bethink: CommandLine,
) -> None:
    bethink("chat", PARIS)
    told = masked(bethink("chat", "I live in Berlin").err).splitlines()
    assert "memory updated: Changed: User lives in Berlin. (undo: bethink memory undo superseded:<1>)" in told
    assert "memory updated: Replaced: User lives in Paris." in told


def test_a_conversation_goes_on_by_its_id_or_as_the_last_one(bethink: CommandLine) -> None:
    first = bethink("chat", "hello").conversation
    assert bethink("chat", "hello again", "--conversation", first).conversation == first
    assert bethink("chat", "--last", "and again").conversation == first
    assert bethink("chat", "--new", "something else").conversation != first


def test_verbose_shows_arguments_results_reasoning_and_tokens(
    bethink: CommandLine, scripted: ScriptedProcess
) -> None:
    call = ScriptedCall("store_memory", {"content": "User likes tea."})
    play(scripted, Rule(after_tool=True, text="Noted."), Rule(reasoning="Worth keeping.", tool_calls=(call,)))
    assert masked(bethink("chat", "-v", "I like tea").err) == snapshot("""\
run <1>, model openai:scripted
warning: Recall goes by words only
about <some> of <some> tokens of the model's window
Worth keeping.
openai:scripted: <some> tokens in, 0 out
  store_memory {"content":"User likes tea."}
memory updated: Remembered: User likes tea. (undo: bethink memory undo added:<2>)
✓ Remember: User likes tea. (<took>)
  Memory stored: User likes tea.
openai:scripted: <some> tokens in, 1 out
conversation <3>
""")


def test_json_is_one_event_a_line_with_its_place(bethink: CommandLine) -> None:
    ended = bethink("chat", "--json", PARIS)
    events = ended.documents
    places = [Place.parse(event["place"]) for event in events]
    assert None not in places
    assert places == sorted(places, key=lambda place: place or Place(0))
    assert [event["kind"] for event in events if event["kind"] != "text_delta"] == snapshot(
        [
            "run_started",
            "warning",
            "context_filled",
            "usage",
            "message_saved",
            "tool_requested",
            "memory_changed",
            "tool_finished",
            "message_saved",
            "usage",
            "message_saved",
            "run_done",
        ]
    )
    said = "".join(event["text"] for event in events if event["kind"] == "text_delta")
    assert said.startswith("User lives in Paris.")


def test_a_question_comes_from_a_pipe(bethink: CommandLine, scripted: ScriptedProcess) -> None:
    play(scripted, Rule(when="^what is this:\n\none\ntwo$", text="Two lines."), Rule(text="Something else."))
    assert bethink("chat", "what is this:", "-", piped="one\ntwo\n").out == "Two lines.\n"
    assert bethink("chat", "-", piped="one").out == "Something else.\n"
    assert bethink("chat", piped="one").out == "Something else.\n"


@pytest.mark.parametrize("piped", [b"", b" \n ", b"\xff\xfe\x00garbage"])
def test_a_pipe_without_text_is_bad_input(bethink: CommandLine, piped: bytes) -> None:
    ended = bethink("chat", "-", piped=piped)
    assert ended.code == 2
    assert ended.err.startswith("bethink: ")
    assert not ended.out
    assert bethink("chat", "--last", "hello").code == 2, "no conversation is left behind"


def test_without_a_model_it_says_how_to_set_one(plain: CommandLine) -> None:
    ended = plain("chat", "hello")
    assert ended.code == 3
    assert "BETHINK_MODEL=" in ended.err
    assert not ended.out


def test_without_a_model_it_names_the_one_that_the_server_was_started_with(plain: CommandLine) -> None:
    plain("memory", "list")
    note = '{"host": "127.0.0.1", "port": 1, "model": "ollama:llama3.2"}'
    (plain.data / "served-at.json").write_text(note)
    assert "`bethink settings set model ollama:llama3.2`" in plain("chat", "hello").err
    assert "`bethink settings set model ollama:llama3.2`" in plain("doctor").out


def test_without_a_model_the_notebook_works(plain: CommandLine) -> None:
    assert plain("chat", "/remember", "I like tea").code == 0
    assert plain.facts() == {"I like tea"}


@pytest.mark.requirement("R103")
def test_a_model_flag_is_stronger_than_the_environment(bethink: CommandLine) -> None:
    assert bethink("chat", "hello", "--model", "").code == 3
    assert bethink("--model", "nobody:knows", "chat", "hello").code == 2
    assert "script" in bethink("--model", "scripted:demo", "chat", "hello").out


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (Rule(status=401, text="Incorrect API key provided."), "OPENAI_API_KEY"),
        (Rule(status=500), "500"),
        (Rule(fault="garbage"), ""),
        (Rule(fault="close_midstream", text="Half of what I wanted"), ""),
    ],
)
def test_a_failing_model_is_one_sentence(
    bethink: CommandLine, scripted: ScriptedProcess, rule: Rule, sentence: str
) -> None:
    play(scripted, rule)
    ended = bethink("chat", "hello")
    assert ended.code == 1
    assert sentence in ended.err
    assert "Traceback" not in ended.err
    assert "sk-invented" not in ended.err


def test_a_call_that_needs_approval_waits_and_says_where_to_approve_it(
    bethink: CommandLine, scripted: ScriptedProcess
) -> None:
    bethink("memory", "add", "User likes tea.")
    play(scripted, Rule(tool_calls=(ScriptedCall("delete_all_memories"),)))
    ended = bethink("chat", "forget everything")
    assert ended.code == 1
    assert masked(ended.err) == snapshot("""\
warning: Recall goes by words only
waiting for your decision: Delete all memories. This cannot be undone.
- 1 memory
- what was said in 1 conversation, which would stay to be read
- User likes tea.
- conversation: forget everything
  delete_all_memories {"kinds": [], "conversations": "keep"}
Decide with `bethink chat --conversation <1>` in a terminal, or on the web page.
Until then it is not done; a new message in this conversation rejects it.
conversation <1>
""")
    assert bethink.facts() == {"User likes tea."}


def test_a_waiting_call_is_rejected_by_a_new_message(bethink: CommandLine, scripted: ScriptedProcess) -> None:
    bethink("memory", "add", "User likes tea.")
    play(
        scripted,
        Rule(when="everything", tool_calls=(ScriptedCall("delete_all_memories"),)),
        Rule(text="Fine."),
    )
    bethink("chat", "forget everything")
    assert bethink("chat", "--last", "or rather not").out == "Fine.\n"
    assert bethink.facts() == {"User likes tea."}


@pytest.mark.parametrize(
    "words",
    [
        ("chat", "--conversation", "no-such-thing", "hello"),
        ("chat", "--conversation", "\x00\x1b[2J", "hello"),
        ("chat", "--last", "hello"),
        ("chat", "--last", "--new", "hello"),
        ("chat", "\udcff"),
        ("chat", "x" * 300_000),
    ],
)
def test_what_makes_no_sense_is_bad_input(bethink: CommandLine, words: tuple[str, ...]) -> None:
    ended = bethink(*words)
    assert ended.code == 2
    assert "Traceback" not in ended.err


def test_control_characters_of_an_answer_stay_in_a_pipe_and_out_of_a_note(
    bethink: CommandLine, scripted: ScriptedProcess
) -> None:
    call = ScriptedCall("store_memory", {"content": "User likes\x1b]0;owned\x07 tea."})
    play(scripted, Rule(after_tool=True, text="a\x1b[2Jb"), Rule(tool_calls=(call,)))
    ended = bethink("chat", "-v", "I like tea")
    assert ended.out == "a\x1b[2Jb\n"
    assert "\x1b" not in ended.err


def test_a_model_s_file_that_is_not_there_is_told_once(plain: CommandLine) -> None:
    ended = plain.setting(BETHINK_MODEL="gguf:/nowhere/model.gguf")("chat", "Hello")
    assert ended.code == 1
    assert "Asking again" not in ended.err
    assert "bethink: " in ended.err


@pytest.mark.timeout(60)
def test_conversations_are_found_by_the_beginning_of_their_id_shown_renamed_and_deleted(
    plain: CommandLine,
) -> None:
    first = plain("chat", "/remember I have a dog").conversation
    other = plain("chat", "/recall dog").conversation
    said = plain("conversations", "show", first, "--json").documents
    assert (said[0]["role"], said[0]["content"]) == ("user", "/remember I have a dog")
    assert said[-1]["role"] == "assistant"
    assert "/remember I have a dog" in plain("conversations", "show", first[:-3]).out
    several = plain("conversations", "show", first[:8])
    assert several.code == 2
    assert first in several.err
    assert other in several.err
    assert plain("conversations", "show", "nothing").code == 2
    assert "My dog" in plain("conversations", "rename", first[:-2], "My", "dog").err
    assert "My dog" in plain("conversations", "list").out
    refused = plain("conversations", "delete", first)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert plain("conversations", "delete", first[:-1], "--yes").code == 0
    assert [one["id"] for one in plain("conversations", "list", "--json").documents] == [other]
    assert plain("chat", "--conversation", other[:-2], "/recall dog").conversation == other
