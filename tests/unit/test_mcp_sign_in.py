"""Signing in to a server of tools, against an authorization server of our own on loopback."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from bethink.errors import McpUnreachable
from bethink.mcp_client import OAuth, ServerConfig
from bethink.mcp_client.servers import Servers
from tests.fake_mcp import MemoryKeeping
from tests.oauth import Guarded, guarded
from tests.tool_servers import called, open_servers, states, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

CALLBACK = "http://127.0.0.1:8484/mcp-servers/callback"


def config(servers: Guarded) -> ServerConfig:
    return ServerConfig(
        "guarded", "http", url=f"{servers.url}/mcp", oauth=OAuth(CALLBACK), connect_timeout_s=20
    )


async def sign_in(servers: Servers) -> dict[str, str]:
    """What the browser of somebody who signs in brings back."""
    await until(lambda: servers.status("guarded").sign_in, 20)
    page = servers.status("guarded").sign_in
    assert page is not None
    async with httpx2.AsyncClient() as browser:
        answer = await browser.get(page)
    target = answer.headers["location"]
    assert target.startswith(CALLBACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}


async def test_a_server_that_wants_a_sign_in_says_so_with_the_page_and_works_after_it() -> None:
    keeping = MemoryKeeping()
    async with guarded() as there, open_servers(config(there), keeping=keeping) as servers:
        given = await sign_in(servers)
        assert states(servers) == {"guarded": "sign_in"}
        with pytest.raises(McpUnreachable, match="sign in"):
            await called(servers, "guarded", "whoami")
        assert not servers.signed_in("another state", given["code"], given["iss"])
        assert servers.signed_in(given["state"], given["code"], given["iss"])
        await until(lambda: states(servers)["guarded"] == "ready")
        assert (await called(servers, "guarded", "whoami")).text == "ada"
        assert servers.status("guarded").sign_in is None
    assert next(iter(there.tokens)) in keeping.secrets["guarded"]


async def test_tokens_outlive_the_process_and_are_refreshed_when_they_end() -> None:
    keeping = MemoryKeeping()
    async with guarded(expires_in=31) as there:
        async with open_servers(config(there), keeping=keeping) as servers:
            given = await sign_in(servers)
            servers.signed_in(given["state"], given["code"], given["iss"])
            await until(lambda: states(servers)["guarded"] == "ready")
        keeping.secrets["guarded"] = keeping.secrets["guarded"].replace(
            '"expires_at":', '"expires_at":1,"_":'
        )
        there.tokens.clear()
        async with open_servers(config(there), keeping=keeping) as servers:
            assert (await called(servers, "guarded", "whoami")).text == "ada"
        assert there.refreshed == 1
        assert len(there.clients) == 1


async def test_a_refused_refresh_asks_for_a_sign_in_again() -> None:
    keeping = MemoryKeeping()
    async with guarded() as there:
        async with open_servers(config(there), keeping=keeping) as servers:
            given = await sign_in(servers)
            servers.signed_in(given["state"], given["code"], given["iss"])
            await until(lambda: states(servers)["guarded"] == "ready")
        there.tokens.clear()
        there.refresh.clear()
        async with open_servers(config(there), keeping=keeping) as servers:
            await servers.sign_in("guarded")
            given = await sign_in(servers)
            assert servers.signed_in(given["state"], given["code"], given["iss"])
            await until(lambda: states(servers)["guarded"] == "ready")


async def test_a_wrong_issuer_signs_nobody_in() -> None:
    async with guarded() as there, open_servers(config(there)) as servers:
        given = await sign_in(servers)
        servers.signed_in(given["state"], given["code"], "https://evil.example")
        await until(lambda: servers.status("guarded").last_error)
        assert not there.tokens


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("by", ["hand", "itself"])
async def test_a_secret_is_handed_over_as_the_server_takes_it(method: str, by: str) -> None:
    keeping = MemoryKeeping()
    async with guarded(expires_in=31) as there:
        there.secret, there.auth_methods = "a secret: with/what & needs % quoting", (method,)
        oauth = OAuth(CALLBACK)
        if by == "hand":
            there.clients["ours"] = {"redirect_uris": [CALLBACK]}
            oauth = OAuth(CALLBACK, client_id="ours", client_secret=there.secret)
        to_it = replace(config(there), oauth=oauth)
        async with open_servers(to_it, keeping=keeping) as servers:
            given = await sign_in(servers)
            servers.signed_in(given["state"], given["code"], given["iss"])
            await until(lambda: states(servers)["guarded"] == "ready")
        keeping.secrets["guarded"] = keeping.secrets["guarded"].replace(
            '"expires_at":', '"expires_at":1,"_":'
        )
        there.tokens.clear()
        async with open_servers(to_it, keeping=keeping) as servers:
            assert (await called(servers, "guarded", "whoami")).text == "ada"
        assert there.refreshed == 1


async def test_what_is_configured_of_the_secret_stands_above_what_the_server_says() -> None:
    async with guarded() as there:
        there.secret, there.auth_methods = "secret", ("client_secret_basic", "client_secret_post")
        there.clients["ours"] = {"redirect_uris": [CALLBACK]}
        oauth = OAuth(CALLBACK, None, "ours", "secret", "client_secret_post")
        async with open_servers(replace(config(there), oauth=oauth)) as servers:
            given = await sign_in(servers)
            there.auth_methods = ("client_secret_post",)
            servers.signed_in(given["state"], given["code"], given["iss"])
            await until(lambda: states(servers)["guarded"] == "ready")
