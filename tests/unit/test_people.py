"""People: what a record must be, how it is found, and that no card's number is ever let out."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bethink.agent.stored_runs import ApprovalChoice
from bethink.errors import BadInput, EmailTaken, UnknownId
from bethink.events import ApprovalNeeded, RunDone, ToolFinished, ToolRequested
from bethink.forgetting.selection import ForgetRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import ToolCall, ToolMessage
from bethink.people.records import shown
from bethink.people.service import PersonQuery
from bethink.principal import Principal
from tests.door import open_door
from tests.house import open_house, ports_of

pytestmark = pytest.mark.anyio

NUMBER = "4111111111111111"
CVV = "7359"
CARD = {"num": "4111-1111-1111-1111", "cvv": CVV, "exp_date": "09/2029"}
ADDRESS = {"country": "France", "city": "Paris", "street": "Rue Cler", "flat_house": "7"}
ADA = {"name": "Ada", "surname": "Lovelace", "email": "ada@example.org", "about_me": "Writes programs."}


def holds_card(text: str) -> bool:
    """Whether a text holds the number, however it is parted, or the code, which is no part of an id."""
    code = re.search(rf"(?<![\w.]){CVV}(?!\w)", text)
    return NUMBER in text.replace("-", "").replace(" ", "") or code is not None


@pytest.mark.requirement("U8")
async def test_a_person_keeps_every_documented_field() -> None:
    more = {"phone": "+33 1 23 45 67 89", "date_of_birth": "1990-12-31", "gender": "female", "salary": 10.5}
    async with open_house() as house:
        person = await house.app.people.create(
            house.me, ADA | more | {"company": "Engines", "address": ADDRESS, "credit_card": CARD}
        )
        known = shown(await house.app.people.get(house.me, person.id))
    masked = {"num": "****-****-****-1111", "cvv": "***", "exp_date": "09/2029"}
    assert known.pop("created_at").endswith("Z")
    expected = ADA | more | {"company": "Engines", "address": ADDRESS, "credit_card": masked, "id": person.id}
    assert known == expected


@pytest.mark.requirement("U8")
async def test_an_email_belongs_to_one_person_however_it_is_written() -> None:
    async with open_house() as house:
        people = house.app.people
        ada = await people.create(house.me, ADA)
        eve = await people.create(house.me, ADA | {"email": "eve@example.org"})
        with pytest.raises(EmailTaken, match=r"^User with such email is already registered$"):
            await people.create(house.me, ADA | {"email": "ADA@Example.org"})
        with pytest.raises(EmailTaken):
            await people.update(house.me, eve.id, {"email": "Ada@example.org"})
        await people.update(house.me, ada.id, {"email": "countess@example.org"})
        await people.update(house.me, eve.id, {"email": "ada@example.org"})
        await people.delete(house.me, eve.id)
        assert await people.create(house.me, ADA)
        other = Principal(owner="somebody else")
        assert await people.create(other, ADA)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"email": "ada"}, "email: is not an e-mail address"),
        ({"name": None}, "name: is required"),
        ({"surname": "  "}, "surname: is empty"),
        ({"phone": "call me"}, "phone: is not a telephone number"),
        ({"date_of_birth": "31.12.1990"}, "date_of_birth: is not a date"),
        ({"date_of_birth": "2999-01-01"}, "date_of_birth: must lie between"),
        ({"gender": "unknown"}, "gender: must be one of male, female"),
        ({"salary": -1}, "salary: must not be below 0"),
        ({"salary": float("nan")}, "salary: give a number"),
        ({"about_me": "x" * 5000}, "about_me: is 5,000 characters long"),
        ({"about_me": "pays with 4111 1111 1111 1111"}, "about_me: contains a card number"),
        ({"address": {"city": "Paris"}}, "address.country: is required"),
        ({"address": ADDRESS | {"zip": "1"}}, "address.zip: there is no such field"),
        ({"credit_card": CARD | {"num": "12"}}, "credit_card.num: must have 13 to 19 digits"),
        ({"credit_card": CARD | {"cvv": "12345"}}, "credit_card.cvv: must have 3 or 4 digits"),
        ({"credit_card": CARD | {"exp_date": "13/2029"}}, "credit_card.exp_date: must be a month"),
        ({"credit_card": CARD | {"num": "****-1111"}}, "credit_card.num: is masked"),
        ({"credit_card": {"num": NUMBER}}, "credit_card.cvv: is required"),
        ({"shoe_size": 1}, "shoe_size: there is no such field"),
    ],
)
async def test_a_refusal_names_the_field_and_why(given: dict[str, Any], reason: str) -> None:
    async with open_house() as house:
        with pytest.raises(BadInput) as refused:
            await house.app.people.create(house.me, ADA | given)
        assert reason in str(refused.value)
        assert not holds_card(str(refused.value))


async def test_all_faults_are_told_at_once() -> None:
    async with open_house() as house:
        with pytest.raises(BadInput) as refused:
            await house.app.people.create(house.me, {"email": "x", "salary": -1})
    for field in ("name", "surname", "about_me", "email", "salary"):
        assert f"{field}: " in str(refused.value)


@pytest.mark.requirement("C11")
async def test_an_update_reaches_about_me_address_and_card_even_where_there_was_none() -> None:
    async with open_house() as house:
        people = house.app.people
        ada = await people.create(house.me, ADA)
        changed = await people.update(
            house.me, ada.id, {"about_me": "Retired.", "address": ADDRESS, "credit_card": CARD}
        )
        assert changed.about_me == "Retired."
        changed = await people.update(house.me, ada.id, {"address": {"city": "Lyon"}})
        assert shown(changed)["address"] == ADDRESS | {"city": "Lyon"}
        changed = await people.update(house.me, ada.id, {"credit_card": {"exp_date": "01/2031"}})
        assert shown(changed)["credit_card"] == {
            "num": "****-****-****-1111",
            "cvv": "***",
            "exp_date": "01/2031",
        }
        # What a program was shown may come back as it is.
        same = await people.update(house.me, ada.id, {"credit_card": shown(changed)["credit_card"]})
        assert same == changed
        emptied = await people.update(house.me, ada.id, {"credit_card": None, "address": None})
        assert emptied.credit_card is emptied.address is None


@pytest.mark.requirement("C11", "U8")
async def test_a_search_holds_every_filter_and_pages() -> None:
    async with open_house() as house:
        people = house.app.people
        for place in range(30):
            gender = "female" if place % 3 == 0 else "male"
            await people.create(
                house.me, ADA | {"name": f"Ann {place}", "email": f"p{place}@example.org", "gender": gender}
            )
        women = await people.search(house.me, PersonQuery(gender="female"), limit=50)
        assert len(women.people) == 10
        assert {person.gender for person in women.people} == {"female"}
        (one,) = (await people.search(house.me, PersonQuery(email="P7@"))).people
        assert one.name == "Ann 7"
        assert not (await people.search(house.me, PersonQuery(name="ann", surname="turing"))).people
        names: list[str] = []
        cursor: str | None = None
        while True:
            page = await people.search(house.me, PersonQuery(name="ann"), limit=7, cursor=cursor)
            names += [person.name for person in page.people]
            if (cursor := page.cursor) is None:
                break
        assert names == [f"Ann {place}" for place in range(30)]
        with pytest.raises(BadInput, match="cursor"):
            await people.search(house.me, PersonQuery(), cursor="x")


@pytest.mark.requirement("R3")
async def test_nobody_reads_anothers_people() -> None:
    async with open_house() as house:
        ada = await house.app.people.create(house.me, ADA)
        other = Principal(owner="somebody else")
        assert not (await house.app.people.search(other, PersonQuery())).people
        for call in (house.app.people.get, house.app.people.delete):
            with pytest.raises(UnknownId):
                await call(other, ada.id)
        with pytest.raises(UnknownId):
            await house.app.people.update(other, ada.id, {"about_me": "Taken."})


@pytest.mark.requirement("R77", "C11")
@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("add_user", "create_user"),
        ("get_user_by_id", "get_user"),
        ("search_user", "search_users"),
        ("delete_users", "delete_user"),
        ("update_user", "update_user"),
    ],
)
async def test_tools_have_the_documented_names_and_those_of_the_services_code(alias: str, name: str) -> None:
    async with open_house() as house:
        box = house.app.toolbox
        assert name in {schema.name for schema in box.offer.schemas}
        prepared = box.prepare(ToolCall("1", alias, json.dumps({**ADA, "id": "1"})))
        answer = prepared.content if isinstance(prepared, ToolMessage) else ""
        assert "There is no tool" not in answer


@pytest.mark.requirement("R77")
async def test_a_card_goes_in_and_nothing_of_it_is_kept_sent_on_or_shown() -> None:
    llm = ScriptedLlm(
        [
            [ScriptedCall("create_user", ADA | {"credit_card": CARD})],
            "Ada is kept.",
        ]
    )
    ports = ports_of(llm)
    async with open_house(llm, ports=ports) as house:
        talk = await house.new()
        events = await house.say("Keep Ada, as the form says.", talk)
        (requested,) = [event for event in events if isinstance(event, ToolRequested)]
        assert json.loads(requested.arguments)["credit_card"]["num"] == "****-1111"
        (finished,) = [event for event in events if isinstance(event, ToolFinished)]
        assert finished.error is None
        assert "****-****-****-1111" in finished.text
        assert not any(holds_card(repr(event)) for event in events)
        assert not any(holds_card(repr(message)) for message in await house.messages(talk))
        # What the model is asked next holds its own call as it is kept.
        assert not holds_card(repr(llm.requests[-1]))
        (ada,) = (await house.app.people.search(house.me, PersonQuery())).people
        assert ada.credit_card is not None
        assert ada.credit_card.last == "1111"
        assert not holds_card(repr(ada))
        exported = "".join([part async for part in house.app.portability.export(house.me, "jsonl")])
        assert not holds_card(exported)


@pytest.mark.requirement("R77")
@pytest.mark.parametrize("how", ["approve", "edit", "edit-card"])
async def test_a_card_of_a_call_that_waits_is_sealed_until_it_is_made(how: str) -> None:
    llm = ScriptedLlm([[ScriptedCall("create_user", ADA | {"credit_card": CARD})], "Ada is kept."])
    async with open_house(llm, tool_policy={"create_user": "ask"}) as house:
        run = await house.app.runs.start(house.me, await house.new(), "Keep Ada.")
        events = await house.events(run)
        (asked,) = [event for event in events if isinstance(event, ApprovalNeeded)]
        (waiting,) = (await house.app.runs.stored.get(house.me, run)).waiting
        assert waiting.sealed is not None
        assert not holds_card(repr(events) + waiting.arguments)
        assert NUMBER.encode() not in waiting.sealed
        arguments = json.loads(asked.arguments)
        if how == "edit":
            arguments["surname"] = "King"
        if how == "edit-card":
            arguments["credit_card"]["num"] = "5555 5555 5555 4444"
        choice = ApprovalChoice("approve") if how == "approve" else ApprovalChoice("edit", arguments)
        assert await house.app.runs.approvals.decide(house.me, run, call=asked.call, choice=choice)
        events = await house.events(run)
        assert [event.error for event in events if isinstance(event, ToolFinished)] == [None]
        assert not holds_card(repr(events))
        assert not (await house.app.runs.stored.get(house.me, run)).waiting
        (ada,) = (await house.app.people.search(house.me, PersonQuery())).people
        assert ada.surname == ("King" if how == "edit" else "Lovelace")
        assert ada.credit_card is not None
        assert ada.credit_card.last == ("4444" if how == "edit-card" else "1111")


async def test_a_sealed_call_whose_key_is_gone_is_a_sentence_and_changes_nothing(tmp_path: Path) -> None:
    llm = ScriptedLlm([[ScriptedCall("create_user", ADA | {"credit_card": CARD})], "It could not be done."])
    ports = ports_of(llm)
    rule = {"create_user": "ask"}
    async with open_house(ports=ports, tool_policy=rule, data_dir=tmp_path, master_key="k" * 16) as house:
        run = await house.app.runs.start(house.me, await house.new(), "Keep Ada.")
        (asked,) = [event for event in await house.events(run) if isinstance(event, ApprovalNeeded)]
    async with open_house(ports=ports, data_dir=tmp_path, master_key="o" * 16) as house:
        assert await house.app.runs.approvals.decide(
            house.me, run, call=asked.call, choice=ApprovalChoice("approve")
        )
        (finished,) = [event for event in await house.events(run) if isinstance(event, ToolFinished)]
        assert "another master key" in finished.text
        assert not (await house.app.people.search(house.me, PersonQuery())).people


async def test_a_call_that_cannot_be_made_keeps_no_card_either() -> None:
    calls = [
        ScriptedCall("create_user", {"credit_card": CARD}),
        ScriptedCall("create_usr", {"card": "4111 1111 1111 1111"}),
        ScriptedCall("create_user", ADA | {"credit_card": json.dumps(CARD)}),
        ScriptedCall("create_user", ADA | {"num": NUMBER, "cvv": CVV}),
        ScriptedCall("update_user", {"id": "1", "credit_card": [CARD]}),
    ]
    llm = ScriptedLlm([calls, "It could not be done."])
    async with open_house(llm) as house:
        talk = await house.new()
        events = await house.say("Keep her.", talk)
        assert {event.error for event in events if isinstance(event, ToolFinished)} == {
            "invalid_arguments",
            "unknown_tool",
        }
        assert not any(holds_card(repr(item)) for item in (*events, *await house.messages(talk)))


@pytest.mark.requirement("R77")
async def test_a_deletion_waits_for_the_owner() -> None:
    ports = ports_of()
    async with open_house(ports=ports) as house:
        ada = await house.app.people.create(house.me, ADA)
        llm = ScriptedLlm([[ScriptedCall("delete_user", {"id": ada.id})], "She is gone."])
    async with open_house(ports=ports_of(llm, store=ports.store)) as house:
        run = await house.app.runs.start(house.me, await house.new(), "Delete Ada.")
        events = await house.events(run)
        (asked,) = [event for event in events if isinstance(event, ApprovalNeeded)]
        assert "Ada Lovelace, ada@example.org" in asked.reason
        assert await house.app.people.get(house.me, ada.id)
        await house.app.runs.approvals.decide(
            house.me, run, call=asked.call, choice=ApprovalChoice("approve")
        )
        events = await house.events(run)
        assert isinstance(events[-1], RunDone)
        with pytest.raises(UnknownId):
            await house.app.people.get(house.me, ada.id)


@pytest.mark.requirement("U8")
async def test_the_page_keeps_finds_changes_and_deletes_people() -> None:
    async with open_door() as door:
        made = await door.http.post("/people", json=ADA | {"credit_card": CARD, "salary": 10})
        assert made.status_code == 201
        assert not holds_card(made.text)
        id = made.json()["id"]
        again = await door.http.post("/people", json=ADA)
        assert (again.status_code, again.json()["detail"]) == (
            400,
            "User with such email is already registered",
        )
        found = (await door.http.get("/people", params={"name": "ADA", "gender": "male"})).json()
        assert found == {"items": [], "cursor": None}
        changed = await door.http.patch(f"/people/{id}", json={"gender": "female", "salary": None})
        assert (changed.json()["gender"], changed.json()["salary"]) == ("female", None)
        (one,) = (await door.http.get("/people", params={"gender": "female"})).json()["items"]
        assert one == (await door.http.get(f"/people/{id}")).json()
        refused = await door.http.patch(f"/people/{id}", json={"credit_card": {"num": [NUMBER]}})
        assert refused.status_code == 422
        assert not holds_card(refused.text)
        assert (await door.http.delete(f"/people/{id}")).status_code == 204
        gone = await door.http.get(f"/people/{id}")
        assert (gone.status_code, gone.json()["detail"]) == (404, "User not found")


async def test_forgetting_reaches_what_records_tell() -> None:
    async with open_house() as house:
        people = house.app.people
        about = "Met at a fair. Was a clerk at Initech under Quillfeather. Likes tea."
        bob = await people.create(house.me, ADA | {"name": "Bob", "surname": "Smith", "about_me": about})
        eve = await people.create(house.me, ADA | {"email": "eve@example.org", "company": "Globex"})
        kept = await people.create(house.me, ADA | {"email": "kim@example.org", "name": "Kim"})
        facts = [
            (await house.app.memory.add(house.me, NewFact(content))).fact.id
            for content in ("Bob was a clerk at Initech under Quillfeather", "Ada Lovelace works at Globex")
        ]
        shown_first = await house.app.forgetting.preview(house.me, ForgetRequest(ids=facts))
        assert {told.name for told in shown_first.records} == {"Bob Smith", "Ada Lovelace"}
        receipt = await house.app.forgetting.confirm(house.me, ForgetRequest(ids=facts), shown_first.token)
        assert set(receipt.records["people"]) == {bob.id, eve.id}
        assert (await people.get(house.me, bob.id)).about_me == "Met at a fair. [forgotten] Likes tea."
        assert (await people.get(house.me, eve.id)).company is None
        assert await people.get(house.me, kept.id) == kept


async def test_people_go_out_and_come_back_without_a_cards_number() -> None:
    async with open_house() as house:
        ada = await house.app.people.create(house.me, ADA | {"credit_card": CARD, "address": ADDRESS})
        exported = "".join([part async for part in house.app.portability.export(house.me, "jsonl")])
    assert not holds_card(exported)
    async with open_house() as house:
        file = io.BytesIO(exported.encode())
        report = await house.app.portability.import_file(house.me, file)
        assert (report.said, report.bad) == (1, ())
        assert await house.app.people.get(house.me, ada.id) == ada
        again = await house.app.portability.import_file(house.me, file)
        assert (again.said, again.known) == (0, 1)
        forged = exported.replace('"last":"1111"', f'"last":"{NUMBER}"').replace(ada.id, "other")
        refused = await house.app.portability.import_file(house.me, io.BytesIO(forged.encode()))
        assert refused.refused == 1
