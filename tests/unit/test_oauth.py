"""OAuth at the door of MCP: a client finds it, registers, has its user asked, and gets and renews tokens."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from bethink.accounts.grants import ACCESS_S, GRANT_DAYS, Clients, Method
from bethink.accounts.register import GRANTS, OWNER
from bethink.memory import NewFact
from bethink.store import Scan, records_of
from tests.door import OWN, called, served
from tests.house import House, open_house
from tests.mcp_clients import MODES, Mode

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("quick_passwords")]

PASSWORD = "correct horse battery"
CALLBACK = "https://connector.example/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
LOOK: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
"""A request of the stateless era, which stands for itself."""
ACCEPT = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
}


@pytest.fixture
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords at a hundredth of their costs, for what is not about these."""
    monkeypatch.setattr("bethink.accounts.sign_ins._COSTS", (2**10, 8, 1))


async def with_ann(house: House) -> str:
    """Ann, who has a password; her id."""
    hashed = await house.app.accounts.signing.passwords.hashed(PASSWORD)
    return (await house.app.accounts.register.add_user("ann", password=hashed)).id


@dataclass(slots=True)
class Connector:
    """A hosted connector, which keeps its registration and tokens; its user allows what it asks for."""

    browser: httpx2.AsyncClient
    scopes: tuple[str, ...] = ("read", "write")
    tokens: OAuthToken | None = None
    info: OAuthClientInformationFull | None = None
    shown: list[dict[str, Any]] = field(default_factory=list)
    answer: dict[str, str] = field(default_factory=dict)
    auth: OAuthClientProvider | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info

    async def visit(self, url: str) -> None:
        """What the page does with the address that the browser is sent to."""
        query = urlsplit(url).query
        (await self.browser.post("/session", json={"name": "ann", "password": PASSWORD})).raise_for_status()
        self.shown.append((await self.browser.get(f"/authorize?{query}")).raise_for_status().json())
        told = {"request": f"?{query}", "allow": True, "scopes": self.scopes}
        made = (await self.browser.post("/authorize", json=told)).raise_for_status().json()
        assert made["redirect_to"].startswith(f"{CALLBACK}?")
        self.answer = {name: one for name, (one,) in parse_qs(urlsplit(made["redirect_to"]).query).items()}

    async def come_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**self.answer)

    @asynccontextmanager
    async def connected(self, url: str, mode: Mode, method: Method = "none") -> AsyncGenerator[Client]:
        """The official client, with its own OAuth."""
        self.auth = OAuthClientProvider(
            url,
            OAuthClientMetadata(
                client_name="Connector",
                redirect_uris=[AnyUrl(CALLBACK)],
                token_endpoint_auth_method=method,
                application_type="web",
            ),
            self,
            self.visit,
            self.come_back,
        )
        async with (
            httpx2.AsyncClient(auth=self.auth, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            yield client


@pytest.mark.timeout(60)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["none", "client_secret_post", "client_secret_basic"])
async def test_the_official_client_signs_in_renews_and_is_let_out_again(mode: Mode, method: Method) -> None:
    async with open_house() as house, served(house) as (http, _):
        await with_ann(house)
        await house.app.memory.add(house.me, NewFact("The user likes tea"))
        url, connector = str(http.base_url.join("/mcp")), Connector(http)
        async with connector.connected(url, mode, method) as client:
            found = await client.call_tool("search_memory", {"query": "tea"})
            assert found.structured_content["memories"]
            first = connector.tokens
            house.clock.advance(ACCESS_S + 1)
            assert connector.auth is not None
            connector.auth.context.token_expiry_time = 1
            assert (await client.call_tool("search_memory", {"query": "tea"})).structured_content["memories"]
        (shown,) = connector.shown
        assert (shown["client"], shown["host"], shown["is_local"]) == (
            "Connector",
            "connector.example",
            False,
        )
        assert connector.answer["iss"] == str(http.base_url).rstrip("/")
        assert first is not None
        assert connector.tokens is not None
        assert (first.expires_in, first.scope) == (ACCESS_S, "read write")
        assert connector.tokens.access_token != first.access_token
        (grant,) = (await http.get("/grants")).json()["items"]
        assert (grant["client"], grant["scopes"]) == ("Connector", ["read", "write"])
        assert (await http.delete(f"/grants/{grant['id']}")).status_code == 200
        assert (await http.get("/grants")).json()["items"] == []
        assert await Asking(http).opens(connector.tokens.access_token) == 401


@dataclass(frozen=True, slots=True)
class Asking:
    """Requests as a client and the page send them, from one browser."""

    http: httpx2.AsyncClient

    async def register(self, **more: object) -> httpx2.Response:
        return await self.http.post("/register", json={"redirect_uris": [CALLBACK]} | more)

    async def new(self, **more: object) -> str:
        return (await self.register(**more)).raise_for_status().json()["client_id"]

    async def sign_in(self) -> None:
        answer = await self.http.post("/session", json={"name": "ann", "password": PASSWORD})
        answer.raise_for_status()

    async def decide(self, client: str, *scopes: str, allow: bool = True, **more: str) -> dict[str, str]:
        """Sign in and decide; what the client is told."""
        await self.sign_in()
        told = {"request": query(client, **more), "allow": allow, "scopes": scopes or ("read", "write")}
        made = (await self.http.post("/authorize", json=told)).raise_for_status().json()
        return {name: one for name, (one,) in parse_qs(urlsplit(made["redirect_to"]).query).items()}

    async def redeem(self, client: str, code: str, **more: str) -> httpx2.Response:
        form = {
            "grant_type": "authorization_code",
            "client_id": client,
            "code": code,
            "redirect_uri": CALLBACK,
        }
        return await self.http.post("/token", data=form | {"code_verifier": VERIFIER} | more)

    async def renew(self, client: str, token: str, **more: str) -> httpx2.Response:
        form = {"grant_type": "refresh_token", "client_id": client, "refresh_token": token}
        return await self.http.post("/token", data=form | more)

    async def tokens(self, client: str, *scopes: str) -> dict[str, Any]:
        code = (await self.decide(client, *scopes))["code"]
        return (await self.redeem(client, code)).raise_for_status().json()

    async def opens(self, token: str, path: str = "/mcp") -> int:
        """The status of a request with this token alone."""
        self.http.cookies.clear()
        headers = ACCEPT | {"authorization": f"Bearer {token}"}
        return (await self.http.post(path, json=LOOK, headers=headers)).status_code


def query(client: str, **more: str) -> str:
    given = {
        "response_type": "code",
        "client_id": client,
        "redirect_uri": CALLBACK,
        "state": "a state & more",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": f"{OWN}/mcp",
    }
    return urlencode({name: value for name, value in (given | more).items() if value})


@asynccontextmanager
async def asking() -> AsyncGenerator[tuple[House, Asking]]:
    async with open_house() as house, called(house) as http:
        await with_ann(house)
        yield house, Asking(http)


async def kept(house: House) -> str:
    grants = [one async for one in records_of(house.app.ports.store, OWNER, Scan(GRANTS))]
    return b"".join(map(GRANTS.encode, grants)).decode()


async def test_who_has_no_token_is_told_where_to_get_one_if_there_are_users() -> None:
    async with open_house() as house, called(house) as http:
        assert (await http.post("/mcp", json=LOOK, headers=ACCEPT)).status_code == 200
        for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"):
            assert (await http.get(path)).status_code == 404
        for path in ("/register", "/token", "/revoke"):
            assert (await http.post(path, json={})).status_code == 404
        await with_ann(house)
        refused = await http.post("/mcp", json=LOOK, headers=ACCEPT)
        assert refused.status_code == 401
        address = f"{OWN}/.well-known/oauth-protected-resource/mcp"
        told = refused.headers["www-authenticate"]
        assert told == f'Bearer realm="Bethink", resource_metadata="{address}", scope="read write"'
        resource = (await http.get(address)).json()
        assert resource["resource"] == f"{OWN}/mcp"
        assert resource["authorization_servers"] == [OWN]
        server = (await http.get("/.well-known/oauth-authorization-server")).json()
        assert server["issuer"] == OWN
        assert server["code_challenge_methods_supported"] == ["S256"]
        bad = await http.post("/mcp", json=LOOK, headers=ACCEPT | {"authorization": "Bearer ba_x"})
        assert 'error="invalid_token"' in bad.headers["www-authenticate"]
        assert "resource_metadata" not in (await http.get("/memories")).headers["www-authenticate"]


async def test_a_public_address_is_the_issuer_where_it_is_asked_for() -> None:
    public = "https://bethink.example"
    async with open_house(public_urls=[public]) as house, called(house) as http:
        await with_ann(house)
        answer = await http.get("/.well-known/oauth-protected-resource", headers={"host": "bethink.example"})
        assert answer.json()["resource"] == f"{public}/mcp"
        assert (await http.get("/.well-known/oauth-protected-resource")).json()["resource"] == f"{OWN}/mcp"


@pytest.mark.parametrize(
    "uri",
    [
        "http://connector.example/callback",
        "javascript:alert(1)",
        "cursor://callback",
        "https://connector.example/callback#part",
        "https://ann@connector.example/",
        "https://",
        "https://[broken/",
        "https://connector.example/\nx",
        "data:text/html,hi",
        "https://connector.example/" + "x" * 500,
    ],
)
async def test_a_code_is_sent_to_no_other_address_than_https_or_this_machine(uri: str) -> None:
    async with asking() as (_, there):
        refused = await there.register(redirect_uris=[CALLBACK, uri])
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"redirect_uris": []}',
        b'{"redirect_uris": "https://connector.example"}',
        b'{"redirect_uris": ["https://a.example"], "token_endpoint_auth_method": "private_key_jwt"}',
        b'{"redirect_uris": ["https://a.example"], "grant_types": ["client_credentials"]}',
        b'{"redirect_uris": ["https://a.example"], "response_types": ["token"]}',
        b"\xff\xfe",
    ],
)
async def test_what_is_no_registration_is_refused_in_the_words_of_oauth(body: bytes) -> None:
    async with asking() as (_, there):
        refused = await there.http.post("/register", content=body)
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_client_metadata")


async def test_registrations_store_nothing_and_are_counted() -> None:
    async with asking() as (house, there):
        before = await house.app.ports.store.count(OWNER, GRANTS, {})
        answers = [(await there.register()).status_code for _ in range(21)]
        assert answers == [201] * 20 + [429]
        assert await house.app.ports.store.count(OWNER, GRANTS, {}) == before == 0


BAD = {
    "client_id": "nobody",
    "redirect_uri": "https://evil.example/callback",
    "response_type": "token",
    "code_challenge": "short",
    "code_challenge_method": "plain",
    "resource": "https://elsewhere.example/mcp",
    "scope": "admin",
}


@pytest.mark.parametrize("name", BAD)
async def test_a_request_that_is_not_valid_is_shown_and_leads_nowhere(name: str) -> None:
    async with asking() as (_, there):
        client = await there.new()
        await there.sign_in()
        asked = query(client, **{name: BAD[name]})
        for answer in (
            await there.http.get(f"/authorize?{asked}"),
            await there.http.post("/authorize", json={"request": asked, "allow": True, "scopes": ["read"]}),
        ):
            assert answer.status_code in (400, 401)
            assert "location" not in answer.headers
            assert "redirect_to" not in answer.json()
            assert answer.json()["detail"]


async def test_parameters_that_are_missing_or_there_twice_are_refused() -> None:
    async with asking() as (_, there):
        client = await there.new()
        await there.sign_in()
        for asked in (
            "",
            query(client, code_challenge=""),
            query(client, code_challenge_method=""),
            f"{query(client)}&redirect_uri=https://evil.example",
            f"{query(client)}&{'&'.join(f'x{n}=1' for n in range(40))}",
            query(client[:-1] + "0" if client[-1] != "0" else client[:-1] + "1"),
            query("é"),
            query("x" * 9000),
        ):
            assert (await there.http.get(f"/authorize?{asked}")).status_code == 400


async def test_a_program_on_this_machine_may_choose_its_port_and_nothing_else() -> None:
    async with asking() as (_, there):
        client = await there.new(redirect_uris=["http://127.0.0.1/callback", "http://[::1]:9/callback"])
        await there.sign_in()
        for uri, status in (
            ("http://127.0.0.1:5151/callback", 200),
            ("http://[::1]:5151/callback", 200),
            ("http://127.0.0.1:5151/other", 400),
            ("http://localhost:5151/callback", 400),
            ("http://127.0.0.1.evil.example:5151/callback", 400),
            ("https://127.0.0.1:5151/callback", 400),
        ):
            shown = await there.http.get(f"/authorize?{query(client, redirect_uri=uri)}")
            assert shown.status_code == status, uri
        shown = await there.http.get(
            f"/authorize?{query(client, redirect_uri='http://127.0.0.1:1/callback')}"
        )
        assert shown.json()["is_local"]


async def test_only_the_own_page_of_who_is_signed_in_decides() -> None:
    async with asking() as (house, there):
        client = await there.new()
        told = {"request": query(client), "allow": True, "scopes": ["read"]}
        assert (await there.http.post("/authorize", json=told)).status_code == 401
        assert (await there.http.get(f"/authorize?{told['request']}")).status_code == 401
        register = house.app.accounts.register
        key = await register.add_key(house.me.owner, "laptop")
        with_key = {"authorization": f"Bearer {key.text}"}
        assert (await there.http.post("/authorize", json=told, headers=with_key)).status_code == 403
        await there.sign_in()
        for headers in (
            {"origin": "https://evil.example"},
            {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        ):
            assert (await there.http.post("/authorize", json=told, headers=headers)).status_code == 403
        assert (await there.http.post("/authorize", data={"request": "x"})).status_code == 422
        assert await kept(house) == ""


async def test_who_refuses_sends_the_client_back_without_anything() -> None:
    async with asking() as (house, there):
        told = await there.decide(await there.new(), allow=False)
        assert told == {"error": "access_denied", "state": "a state & more", "iss": OWN}
        assert await kept(house) == ""


async def test_a_grant_is_for_what_was_chosen_and_opens_nothing_but_mcp() -> None:
    async with asking() as (house, there):
        await house.app.memory.add(house.me, NewFact("The user likes tea"))
        client = await there.new()
        tokens = await there.tokens(client, "read")
        assert tokens["scope"] == "read"
        access = tokens["access_token"]
        assert await there.opens(access) == 200
        bearer = {"authorization": f"Bearer {access}"}
        for path in ("/memories", "/v1/models", "/conversations", "/users", "/grants", "/keys", "/metrics"):
            assert (await there.http.get(path, headers=bearer)).status_code == 401, path
        elsewhere = {"host": "localhost:8484"}
        assert (
            await there.http.post("/mcp", json=LOOK, headers=ACCEPT | bearer | elsewhere)
        ).status_code == 401
        assert (await there.http.get(f"/memories?key={access}")).status_code == 422
        call = {"name": "store_memory", "arguments": {"content": "The user likes coffee"}}
        body = LOOK | {"method": "tools/call", "params": LOOK["params"] | call}
        named = {"mcp-method": "tools/call", "mcp-name": "store_memory"}
        written = await there.http.post("/mcp", json=body, headers=ACCEPT | bearer | named)
        assert (written.status_code, written.json()["result"]["isError"]) == (200, True)
        assert await house.app.memory.count(house.me) == 1
        secrets = [access, tokens["refresh_token"], client]
        assert not [one for one in secrets if one in await kept(house)]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"code": "bc_unknown"}, "invalid_grant"),
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_grant"),
        ({"code_verifier": "v" * 200}, "invalid_grant"),
        ({"redirect_uri": "https://evil.example"}, "invalid_grant"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"client": "nobody"}, "invalid_client"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    ],
)
async def test_a_code_is_redeemed_only_as_it_was_asked_for(more: dict[str, str], error: str) -> None:
    async with asking() as (_, there):
        client = await there.new()
        code = (await there.decide(client))["code"]
        refused = await there.redeem(**{"client": client, "code": code} | more)
        assert refused.json()["error"] == error
        assert refused.headers["content-type"] == "application/json"
        assert (await there.redeem(client, code)).status_code == 200


async def test_a_code_is_of_one_client_and_for_two_minutes() -> None:
    async with asking() as (house, there):
        client = await there.new()
        code = (await there.decide(client))["code"]
        assert (await there.redeem(await there.new(), code)).json()["error"] == "invalid_grant"
        house.clock.advance(121)
        assert (await there.redeem(client, code)).json()["error"] == "invalid_grant"
        assert await house.app.accounts.register.clear_ended() == 1
        assert await kept(house) == ""


async def test_a_code_or_refresh_token_that_comes_twice_ends_its_grant() -> None:
    async with asking() as (house, there):
        client = await there.new()
        code = (await there.decide(client))["code"]
        tokens = (await there.redeem(client, code)).json()
        assert (await there.redeem(client, code)).json()["error"] == "invalid_grant"
        assert await there.opens(tokens["access_token"]) == 401

        tokens = await there.tokens(client)
        refresh = tokens["refresh_token"]
        second = (await there.renew(client, refresh)).json()
        assert await there.opens(tokens["access_token"]) == 401
        assert await there.opens(second["access_token"]) == 200
        guessed = second["refresh_token"][:-43] + "x" * 43
        forged = "br_" + "x" * 22 + second["refresh_token"][25:]
        assert (await there.renew(client, forged)).json()["error"] == "invalid_grant"
        assert await there.opens(second["access_token"]) == 200
        assert (await there.renew(client, refresh)).json()["error"] == "invalid_grant"
        assert await there.opens(second["access_token"]) == 401
        assert (await there.renew(client, second["refresh_token"])).json()["error"] == "invalid_grant"
        assert (await there.renew(client, guessed)).json()["error"] == "invalid_grant"
        assert await kept(house) == ""


async def test_a_refresh_asks_for_no_more_and_ends_when_it_is_not_used() -> None:
    async with asking() as (house, there):
        client = await there.new()
        tokens = await there.tokens(client)
        refresh = tokens["refresh_token"]
        assert (await there.renew(client, refresh, scope="admin")).json()["error"] == "invalid_scope"
        elsewhere = await there.renew(client, refresh, resource="https://elsewhere.example/")
        assert elsewhere.json()["error"] == "invalid_target"
        assert (await there.renew(await there.new(), refresh)).json()["error"] == "invalid_grant"
        less = (await there.renew(client, refresh, scope="read", resource=f"{OWN.upper()}/mcp/")).json()
        assert less["scope"] == "read"
        house.clock.advance(ACCESS_S)
        assert await there.opens(less["access_token"]) == 401
        house.clock.advance(GRANT_DAYS * 86_400)
        assert (await there.renew(client, less["refresh_token"])).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("way", ["access_token", "refresh_token", "disabled", "password", "removed", "key"])
async def test_a_grant_ends_with_what_it_rests_on(way: str) -> None:
    async with asking() as (house, there):
        register = house.app.accounts.register
        client = await there.new()
        if way == "key":
            key = await register.add_key(house.me.owner, "laptop")
            await there.http.post("/session", json={"key": key.text})
            told = {"request": query(client), "allow": True, "scopes": ["read"]}
            made = (await there.http.post("/authorize", json=told)).json()["redirect_to"]
            code = parse_qs(urlsplit(made).query)["code"][0]
            tokens = (await there.redeem(client, code)).json()
        else:
            tokens = await there.tokens(client)
        assert await there.opens(tokens["access_token"]) == 200
        match way:
            case "access_token" | "refresh_token":
                form = {"token": tokens[way], "client_id": await there.new()}
                assert (await there.http.post("/revoke", data=form)).status_code == 200
                assert await there.opens(tokens["access_token"]) == 200
                form["client_id"] = client
                assert (await there.http.post("/revoke", data=form)).status_code == 200
                assert (await there.http.post("/revoke", data=form)).status_code == 200
            case "disabled":
                await register.change_user(house.me.owner, disabled=True)
            case "password":
                await register.change_user(house.me.owner, password="another")
            case "removed":
                await register.add_user("eve")
                await register.remove_user(house.me.owner)
            case _:
                await register.revoke_key(key.key.id)  # pyright: ignore[reportPossiblyUnboundVariable]
        assert await there.opens(tokens["access_token"]) == 401
        assert (await there.renew(client, tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def test_a_secret_is_asked_for_where_one_was_given() -> None:
    async with asking() as (_, there):
        made = (await there.register(token_endpoint_auth_method="client_secret_basic")).json()
        client, secret = made["client_id"], made["client_secret"]
        other = (await there.register(token_endpoint_auth_method="client_secret_basic")).json()
        assert other["client_secret"] != secret
        code = (await there.decide(client))["code"]
        assert (await there.redeem(client, code)).status_code == 401
        assert (await there.redeem(client, code, client_secret=secret)).status_code == 401
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
        for shown, status in ((other["client_secret"], 401), ("", 401), ("é", 401), (secret, 200)):
            answer = await there.http.post("/token", data=form, auth=(client, shown))
            assert answer.status_code == status
        assert (await there.http.post("/token", json=form)).json()["error"] == "invalid_request"
        bad = await there.http.post("/token", data=form, headers={"authorization": "Basic !"})
        assert bad.json()["error"] == "invalid_client"


async def test_one_owner_sees_and_ends_no_grant_of_another() -> None:
    async with asking() as (house, there):
        await there.tokens(await there.new(client_name="  Ann's\n connector  "))
        (grant,) = (await there.http.get("/grants")).json()["items"]
        assert grant["client"] == "Ann's connector"
        register = house.app.accounts.register
        eve = await register.add_user("eve")
        key = {"authorization": f"Bearer {(await register.add_key(eve.id, 'eve')).text}"}
        there.http.cookies.clear()
        assert (await there.http.get("/grants", headers=key)).json()["items"] == []
        assert (await there.http.delete(f"/grants/{grant['id']}", headers=key)).status_code == 404
        assert len(await house.app.accounts.grants.of()) == 1


async def test_ids_that_were_not_given_here_are_nobodys() -> None:
    async with open_house() as house:
        clients = Clients(house.app.secret_box)
        for id in ("", ".", "a.b", "." * 50, "x" * 10_000, "\ud800", "é.é", "W10.".rjust(40, "W")):
            assert await clients.get(id) is None
