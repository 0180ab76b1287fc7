"""Personal numbers in results: found as people write them, and nothing else is touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from bethink.errors import BadInput
from bethink.events import ToolFinished
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.masking import NumberMask, redacted, redacted_value
from bethink.mcp_server.server import McpDoor
from bethink.settings import Redacted, Settings, load_settings
from bethink.tool import ToolContext, ToolOutput, tool
from tests.door import open_door
from tests.house import open_house
from tests.mcp_clients import text_of

pytestmark = pytest.mark.anyio

ALL: Sequence[Redacted] = ("card", "ssn", "phone", "email", "iban")
NUMBER = "4111111111111111"
SHOWN = "XXXX-XXXX-XXXX-1111"


def told(text: str, kinds: Sequence[Redacted] = ALL) -> str:
    return redacted(text, kinds, Counter())


@pytest.mark.requirement("U5", "U7")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (NUMBER, SHOWN),
        ("4111-1111-1111-1111", SHOWN),
        ("Card: 4111 1111 1111 1111.", f"Card: {SHOWN}."),
        (f'{{"num":"{NUMBER}","n":{NUMBER}}}', f'{{"num":"{SHOWN}","n":{SHOWN}}}'),
        (f"Ada,{NUMBER},09/27", f"Ada,{SHOWN},09/27"),
        ("4111 1111 1111 1111 123", f"{SHOWN} XXX"),
        ("4111 1111 1111 1111 09/27", f"{SHOWN} 09/27"),
        ("Amex 3782 822463 10005", "Amex XXXX-XXXX-XXXX-0005"),
        ("5500000000000004 and 6011000000000004", "XXXX-XXXX-XXXX-0004 and XXXX-XXXX-XXXX-0004"),
        ("SSN 123-45-6789", "SSN XXX-XX-XXXX"),
        ('"ssn": "123456789"', '"ssn": "XXX-XX-XXXX"'),
        ("call +44 20 7946 0018 now", "call [phone number] now"),
        ("+4915112345678", "[phone number]"),
        ("(555) 234-5678 or 555-234-5678", "[phone number] or [phone number]"),
        ("06 12 34 56 78, 020 7946 0018", "[phone number], [phone number]"),
        ("write to ada.b+x@mail.example.org.", "write to [e-mail address]."),
        ("DE89 3704 0044 0532 0130 00", "DEXX-XXXX-3000"),
        ("GB82WEST12345698765432", "GBXX-XXXX-5432"),
    ],
)
def test_numbers_are_masked_as_people_write_them(text: str, shown: str) -> None:
    assert told(text) == shown


@pytest.mark.requirement("U7")
@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112 4111-1111-1111-1112",
        "550e8400-e29b-41d4-a716-446655440000 41111111-1111-4111-8111-111111111111",
        "1763816400000 1763816400000000 0.4111111111111111 411.1111111111111111",
        "2026-11-22 12:51:38 22.11.2026 11/22/2026 2026-11-22T12:51:38.123456Z +02:00 +2026-11-22",
        "$1,234,567.89 EUR 12.345,00 19.99",
        "192.168.100.200 fe80::1 v1.22.333 127.0.0.1:8005",
        "000-12-3456 666-12-3456 900-12-3456 123-00-4567 123-45-0000 1-123-45-6789",
        "git@github.com:owner/name @decorator a@b pkg@1.2.3 x = y @ z",
        "for i in range(100_000): total += 0x4111111111111111",
        "DE00370400440532013000 ABCD1234EFGH5678",
        "order-4111111111111111 https://shop.example/4111111111111111",
        "978-3-16-148410-0 9783161484100",
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
    ],
)
def test_ids_dates_prices_code_and_other_digits_stay(text: str) -> None:
    assert told(text) == text


@given(st.uuids(), st.datetimes(), st.decimals(0, 10**9, places=2), st.integers(10**12, 2 * 10**15 - 1))
def test_no_id_date_time_price_or_instant_is_ever_masked(
    uuid: UUID, at: datetime, price: Decimal, instant: int
) -> None:
    text = f"{uuid} {at} {price} ${price}"
    assert told(text) == text
    assert told(str(instant), ["ssn", "phone", "email", "iban"]) == str(instant)


@given(st.integers(10**12, 10**19 - 1).map(str))
def test_digits_that_fail_the_check_stay_and_no_mask_shows_more_than_four(digits: str) -> None:
    total = sum(
        sum(divmod(2 * int(digit), 10)) if place % 2 else int(digit)
        for place, digit in enumerate(reversed(digits))
    )
    is_card = total % 10 == 0 and digits[0] not in "01"
    assert told(digits) == (f"XXXX-XXXX-XXXX-{digits[-4:]}" if is_card else digits)


@given(st.text(alphabet="04159 -+.@(aD/\n", max_size=200))
def test_what_is_masked_once_is_not_masked_again(text: str) -> None:
    once = told(text)
    assert told(once, ["card", "ssn"]) == told(told(once, ["card", "ssn"]), ["card", "ssn"])


def test_structures_are_masked_to_their_names_and_numbers() -> None:
    counts: Counter[str] = Counter()
    value = {"cards": [int(NUMBER), {NUMBER: True}], "n": 7, "at": None, "x": 1.5}
    expected = {"cards": [SHOWN, {SHOWN: True}], "n": 7, "at": None, "x": 1.5}
    assert redacted_value(value, ["card"], counts) == expected
    assert counts == {"card": 2}


def test_an_exception_is_a_name_before_a_pattern() -> None:
    redacting = NumberMask(["card", "phone"], {"crm__*": ["email"], "crm__read": []})
    found = [redacting.kinds_of(name) for name in ("crm__read", "crm__list", "other")]
    assert found == [[], ["email"], ["card", "phone"]]


def test_the_kinds_are_a_setting() -> None:
    assert list(Settings().redaction.tool_results) == ["card", "ssn"]
    settings = load_settings(redaction={"tool_results": "card,email", "exceptions": {"get_user": []}})
    assert settings.redaction.tool_results == ["card", "email"]
    with pytest.raises(BadInput, match="tool_results"):
        load_settings(redaction={"tool_results": ["everything"]})


@tool(effect="read", label="Read it")
async def read_it(context: ToolContext) -> ToolOutput:
    """Read it."""
    text = f"{NUMBER} 123-45-6789 +44 20 7946 0018"
    return ToolOutput(text + " " * 600 + NUMBER, structured={"num": NUMBER})


@pytest.mark.requirement("U5", "U7", "R201")
async def test_a_number_reaches_neither_model_nor_store_nor_any_door_and_the_log_has_its_kind() -> None:
    llm = ScriptedLlm([ScriptedCall("read_it", {}), "Done."])
    async with open_house(llm, tools=[read_it]) as house:
        talk = await house.new()
        events = await house.say("Read it.", talk)
        (finished,) = (event for event in events if isinstance(event, ToolFinished))
        kept = [one.message for one in await house.messages(talk)]
        log = await house.app.audit.calls(house.me)
    assert finished.text.startswith(f"{SHOWN} XXX-XX-XXXX +44 20 7946 0018")
    assert finished.redacted == {"card": 2, "ssn": 1}
    assert [item.record.redacted for item in log.items] == [{"card": 2, "ssn": 1}]
    assert NUMBER not in repr([events, kept, llm.requests])


@pytest.mark.requirement("U7")
async def test_the_log_over_http_says_what_was_masked() -> None:
    llm = ScriptedLlm([ScriptedCall("read_it", {}), "Done."])
    async with open_door(llm, tools=[read_it]) as door:
        talk = await door.house.new()
        await door.house.say("Read it.", talk)
        shown = await door.http.get("/tools/calls")
        said = await door.http.get(f"/conversations/{talk}/messages")
    assert [item["redacted"] for item in shown.json()["items"]] == [{"card": 2, "ssn": 1}]
    assert NUMBER not in shown.text + said.text


@pytest.mark.requirement("U7")
async def test_an_mcp_client_reads_it_masked_in_text_and_structure() -> None:
    async with open_house(redaction={"tool_results": ["ssn", "phone"]}) as house:
        ada = {
            "name": "Ada",
            "surname": "L",
            "email": "ada@example.org",
            "about_me": "Her SSN is 123-45-6789.",
        }
        await house.app.people.create(house.me, ada | {"phone": "+44 20 7946 0018"})
        async with Client(McpDoor(house.app, "stdio").server()) as client:
            result = await client.call_tool("search_users", {"name": "Ada"})
        log = await house.app.audit.calls(house.me)
    told_all = f"{text_of(result)} {result.structured_content}"
    assert "XXX-XX-XXXX" in told_all
    assert "[phone number]" in told_all
    assert not any(secret in told_all for secret in ("123-45-", " 7946"))
    assert [item.record.redacted for item in log.items] == [{"phone": 1, "ssn": 1}]
