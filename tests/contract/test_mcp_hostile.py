"""A server that does what it should not: nothing of it hurts Bethink, another server or another call."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from time import process_time

import anyio
import pytest

from bethink.errors import Conflict, McpError, McpLost, McpTimeout, McpUnreachable, UnknownId
from bethink.mcp_client import Hooks, NamedResource, ResultFile, ServerConfig, Text
from bethink.mcp_client.masking import SecretMask
from bethink.mcp_client.processes import ProcessGuard
from bethink.mcp_client.stdio import stdio_transport
from tests.fake_mcp import MemoryKeeping
from tests.tool_servers import called, hostile, is_running, open_servers, states, until, waiting

# A process is started for each test, on machines where others are at work.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.mark.requirement("R71", "R63")
async def test_a_server_runs_as_a_child_process_and_is_asked_who_it_is() -> None:
    async with open_servers(hostile()) as servers:
        assert (await called(servers, "hostile", "add", a=1)).text == "2"
        status = servers.status("hostile")
        assert (status.state, status.protocol, status.server) == ("ready", "2025-11-25", "hostile 6.6.6")


async def test_a_changed_description_is_not_offered_until_it_is_accepted() -> None:
    async with open_servers(hostile()) as servers:
        await called(servers, "hostile", "poison")
        await until(lambda: waiting(servers, "hostile"))
        assert waiting(servers, "hostile") == [("add", "changed")]
        assert "id_rsa" in servers.status("hostile").waiting[0].description
        assert "add" not in [tool.name for _, tool in servers.tools()]
        status = await servers.accept("hostile", servers.status("hostile").digest)
        assert not status.waiting
        assert "add" in [tool.name for _, tool in servers.tools()]


async def test_a_new_tool_waits_too_and_what_is_accepted_is_what_was_looked_at() -> None:
    async with open_servers(hostile()) as servers:
        await called(servers, "hostile", "grow")
        await until(lambda: waiting(servers, "hostile"))
        assert waiting(servers, "hostile") == [("extra", "new")]
        seen = servers.status("hostile").digest
        await called(servers, "hostile", "poison")
        await until(lambda: len(waiting(servers, "hostile")) > 1)
        with pytest.raises(Conflict):
            await servers.accept("hostile", seen)


async def test_what_was_accepted_is_offered_before_the_server_runs_and_compared_when_it_does() -> None:
    keeping = MemoryKeeping()
    async with open_servers(hostile(), keeping=keeping) as servers:
        await until(lambda: servers.status("hostile").tools)
    async with open_servers(hostile(), keeping=keeping) as servers:
        assert states(servers) == {"hostile": "idle"}
        assert "add" in [tool.name for _, tool in servers.tools()]
        assert (await called(servers, "hostile", "add", a=2)).text == "3"
    pinned = keeping.pins["hostile"]
    changed = [tool for tool in pinned.tools if tool.name != "add"]
    keeping.pins["hostile"] = type(pinned)(origin=pinned.origin, tools=tuple(changed))
    async with open_servers(hostile(), keeping=keeping) as servers:
        with pytest.raises(UnknownId, match="accept hostile"):
            await called(servers, "hostile", "add", a=2)


async def test_an_answer_of_100_mb_is_refused_and_the_session_goes_on() -> None:
    async with open_servers(hostile()) as servers:
        with pytest.raises(McpError, match="104,857"):
            await called(servers, "hostile", "huge", megabytes=100)
        assert states(servers) == {"hostile": "ready"}
        assert (await called(servers, "hostile", "add", a=1)).text == "2"


@pytest.mark.requirement("R187")
async def test_an_answer_of_several_mb_arrives_whole() -> None:
    async with open_servers(hostile()) as servers:
        assert len((await called(servers, "hostile", "huge", megabytes=5)).text) == 5 * 1024 * 1024


@pytest.mark.requirement("R187")
async def test_a_call_that_is_never_answered_ends_in_time_and_the_server_is_told() -> None:
    async with open_servers(hostile(call_timeout_s=0.3)) as servers:
        with pytest.raises(McpTimeout, match=r"0\.3 s"):
            await called(servers, "hostile", "never")
        assert len(json.loads((await called(servers, "hostile", "cancelled")).text)) == 1
        assert states(servers) == {"hostile": "ready"}


async def test_a_cancelled_call_is_cancelled_on_the_server() -> None:
    async with open_servers(hostile()) as servers:
        await servers.reconnect("hostile")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, servers, "hostile", "never")
            assert (await called(servers, "hostile", "add", a=1)).text == "2"
            tasks.cancel_scope.cancel()
        assert len(json.loads((await called(servers, "hostile", "cancelled")).text)) == 1


@pytest.mark.requirement("R187")
async def test_an_answer_for_another_call_answers_nobody() -> None:
    async with open_servers(hostile(call_timeout_s=0.5)) as servers:
        with pytest.raises(McpTimeout):
            await called(servers, "hostile", "other_id")


@pytest.mark.requirement("R187")
async def test_garbage_on_standard_output_is_skipped() -> None:
    async with open_servers(hostile("garbage")) as servers:
        assert (await called(servers, "hostile", "add", a=1)).text == "2"


async def test_a_server_that_dies_in_the_handshake_says_why_and_delays_nobody() -> None:
    dying = hostile("dying", name="dying")
    async with open_servers(dying, hostile()) as servers:
        assert (await called(servers, "hostile", "add", a=1)).text == "2"
        with pytest.raises(McpUnreachable, match="code 7: no licence key"):
            await called(servers, "dying", "add")
        assert servers.status("dying").last_error == "it ended with code 7: no licence key"


@pytest.mark.parametrize("traits", [("wordy",), ("wordy", "waiting")])
async def test_of_a_long_trace_the_end_is_told_without_secrets(traits: tuple[str, ...]) -> None:
    config = hostile(*traits, env={"LICENCE_KEY": "s3cret-licence-key"}, connect_timeout_s=2)
    async with open_servers(config) as servers:
        await until(lambda: servers.status("hostile").last_error, 20)
        told = servers.status("hostile").last_error or ""
    how = "it did not answer within 2 s" if "waiting" in traits else "it ended with code 1"
    assert told.startswith(f"{how}: …")
    assert told.endswith("| ConnectionError: no database ***")
    assert len(told) < 1_100


async def test_a_server_that_is_tried_in_vain_is_quoted() -> None:
    async with open_servers() as servers:
        with pytest.raises(McpUnreachable, match=r"no answer within 2 s: .*no database"):
            await servers.try_out(hostile("wordy", "waiting", connect_timeout_s=2))


async def test_a_server_that_is_given_up_before_it_said_a_word_is_nobodys_child() -> None:
    class Refusing(ProcessGuard):
        async def watch(self, group: int) -> None:
            pids.append(group)
            raise McpUnreachable

    pids: list[int] = []
    hooks = Hooks(lambda: None, lambda _reason: None, lambda _page: None)
    with pytest.raises(McpUnreachable):
        async with stdio_transport(hostile("mute"), hooks, Refusing()):
            pass
    with pytest.raises(ChildProcessError):
        os.waitpid(pids[0], os.WNOHANG)  # noqa: ASYNC222 - it does not wait


async def test_a_server_that_never_answers_the_handshake_is_given_up_in_time() -> None:
    mute = hostile("mute", name="mute", connect_timeout_s=0.5)
    async with open_servers(mute, hostile()) as servers:
        assert (await called(servers, "hostile", "add", a=1)).text == "2"
        with pytest.raises(McpUnreachable, match=r"within 0\.5 s"):
            await called(servers, "mute", "add")


async def test_a_program_that_is_not_there_is_named() -> None:
    from bethink.mcp_client import ServerConfig

    async with open_servers(ServerConfig("none", "stdio", command=("/no/such/program",))) as servers:
        with pytest.raises(McpUnreachable, match=r"/no/such/program cannot be started.*Check `command`"):
            await called(servers, "none", "add")


async def test_a_flood_of_notifications_ends_the_session_and_it_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A busy machine reads fewer than a thousand a second, which are no flood then.
    monkeypatch.setattr("bethink.json_bounds.PER_S", 10)
    async with open_servers(hostile()) as servers:
        with pytest.raises(McpLost, match="far more messages"):
            await called(servers, "hostile", "flood")
        assert (await called(servers, "hostile", "add", a=1)).text == "2"


async def test_a_list_of_tools_without_end_is_cut_off() -> None:
    async with open_servers(hostile("endless")) as servers:
        await until(lambda: servers.status("hostile").tools)
        assert len(servers.status("hostile").tools) == 50


@pytest.mark.requirement("U10", "R164")
async def test_a_server_that_is_killed_in_a_call_comes_back_and_the_call_is_not_repeated() -> None:
    async with open_servers(hostile()) as servers:
        pid = int((await called(servers, "hostile", "pid")).text)
        with pytest.raises(McpLost, match="signal 9"):
            await called(servers, "hostile", "die")
        again = int((await called(servers, "hostile", "pid")).text)
        assert again != pid
        os.kill(again, signal.SIGKILL)
        await until(lambda: states(servers)["hostile"] != "ready")
        await until(lambda: states(servers)["hostile"] == "ready")


async def test_progress_is_told_and_renews_the_patience() -> None:
    async with open_servers(hostile()) as servers:
        done = await called(servers, "hostile", "steps")
        assert done.progress == [("working", 1 / 3), ("working", 2 / 3), ("working", 1.0)]


@pytest.mark.requirement("R74")
async def test_every_kind_of_content_arrives() -> None:
    async with open_servers(hostile()) as servers:
        result = (await called(servers, "hostile", "parts")).result
        first, image, audio, link, note, data, broken = result.parts
        assert first == Text("first")
        assert isinstance(image, ResultFile)
        assert (image.media_type, image.content[:4]) == ("image/png", b"\x89PNG")
        assert isinstance(audio, ResultFile)
        assert audio.media_type == "audio/wav"
        assert isinstance(link, NamedResource)
        assert link.uri == "file:///tmp/a.txt"
        assert note == Text("[note://1]\nkept")
        assert isinstance(data, ResultFile)
        assert (data.name, data.content) == ("data.bin", b"\x00\x01\x02")
        assert broken == Text("[image/png, which is not valid base64]")
        assert result.structured == {"answer": 42}


@pytest.mark.requirement("R187")
async def test_an_answer_that_breaks_the_tools_own_schema_is_an_error() -> None:
    async with open_servers(hostile()) as servers:
        with pytest.raises(McpError, match="not valid"):
            await called(servers, "hostile", "no_promise")
        assert states(servers) == {"hostile": "ready"}


@pytest.mark.requirement("R204", "R141")
async def test_closing_ends_a_server_that_ignores_it_and_its_children() -> None:
    async with open_servers(hostile("stubborn")) as servers:
        pid = int((await called(servers, "hostile", "pid")).text)
        child = next(int(tool.description) for _, tool in servers.tools() if tool.name == "add")
        assert is_running(pid)
        assert is_running(child)
    assert not is_running(pid)
    assert not is_running(child)


async def test_a_child_that_leads_a_session_of_its_own_is_ended_too() -> None:
    async with open_servers(hostile("forking")) as servers:
        await called(servers, "hostile", "pid")
        child = next(int(tool.description) for _, tool in servers.tools() if tool.name == "add")
        assert is_running(child)
    await until(lambda: not is_running(child))


async def test_a_tool_that_breaks_the_protocol_costs_the_others_nothing_and_is_named() -> None:
    async with open_servers(hostile("odd")) as servers:
        await until(lambda: states(servers)["hostile"] == "ready", 20)
        status = servers.status("hostile")
        assert {"add", "fine"} <= set(status.tools)
        assert not {"odd", "bare"} & set(status.tools)
        assert status.reason == "2 of its tools are left out, since they break the protocol: odd, bare"


async def test_half_an_emoji_is_the_sign_for_what_is_no_text() -> None:
    async with open_servers(hostile("odd", call_timeout_s=10)) as servers:
        assert (await called(servers, "hostile", "half")).text == "a\ufffdb"


async def test_an_answer_of_200_000_parts_is_cut_and_holds_up_nobody() -> None:
    async with open_servers(hostile("odd")) as servers:
        await called(servers, "hostile", "add", a=1)
        # Of this process alone: on a busy machine it waits for others, too.
        longest, last = 0.0, process_time()
        answer = asyncio.ensure_future(called(servers, "hostile", "crumbs"))
        while not answer.done():
            await asyncio.sleep(0.005)
            longest, last = max(longest, process_time() - last), process_time()
        parts = (await answer).result.parts
        assert len(parts) == 1_001
        assert parts[-1] == Text("[199,000 more parts, left out]")
        assert longest < 1.5, "it was five seconds"


async def test_an_answer_of_millions_of_values_is_refused_and_the_session_goes_on() -> None:
    async with open_servers(hostile("odd")) as servers:
        with pytest.raises(McpError, match="more than 1,000,000 values"):
            await called(servers, "hostile", "mesh")
        assert states(servers) == {"hostile": "ready"}
        assert (await called(servers, "hostile", "add", a=1)).text == "2"


async def test_a_servers_last_words_and_errors_hide_what_it_was_configured_with() -> None:
    config = hostile("dying", env={"LICENCE_KEY": "s3cret-licence-key"})
    async with open_servers(config) as servers:
        await until(lambda: servers.status("hostile").last_error, 20)
        status = servers.status("hostile")
        assert "no licence key ***" in (status.last_error or "")
        assert "s3cret" not in repr(status)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Authorization: Bearer abcdef123456 refused", "Authorization: *** refused"),
        ("for url 'http://h/sse?token=tok%2Fen99'", "for url 'http://h/sse?***'"),
        ("token tok/en99", "token ***"),
        ("http://me:pass-word@h/x", "http://***@h/x"),
        ("it breaks off: top-sec", "it breaks off: ***"),
        ("--api-key=flagged-value", "--api-key=***"),
        ("second line of a key", "*** of a key"),
        ("it ended with code 1", "it ended with code 1"),
    ],
)
def test_what_is_configured_is_hidden(said: str, shown: str) -> None:
    config = ServerConfig(
        "a",
        "sse",
        command=("x", "--api-key=flagged-value"),
        env={"A": "top-secret", "B": "begin here\nsecond line\n", "C": "1"},
        url="http://h/sse?token=tok%2Fen99",
        headers={"Authorization": "Bearer abcdef123456"},
    )
    assert SecretMask(config)(said) == shown
