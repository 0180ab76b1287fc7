"""What a first-time user tells in German while talking of something else, a week later: right, and theirs.

The model is a poor extractor: beside what is right it proposes what stands in a mail that was pasted, words
that nobody said, and a supposition. The server dies before it has learnt the last thing that was told.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import Browser, Page, expect

from benchmarks.stand_ins.scripted_server import ScriptedServer, listening
from bethink.llm.scripted import Reply, Rules, ScriptInput
from tests.ui.acts import faults
from tests.ui.conftest import NewPage
from tests.ui.english import english
from tests.ui.running import COMMAND, PICTURES, bethink

pytestmark = pytest.mark.timeout(120)

_WEEK = timedelta(days=7)
_A_WEEK_LATER = f"""
from bethink.clock import SystemClock
now = SystemClock.now_us
SystemClock.now_us = lambda self: now(self) + {_WEEK // timedelta(microseconds=1)}
{COMMAND}"""

_MEAT, _HOME, _CELLO = "Der Nutzer isst kein Fleisch", "Der Nutzer wohnt in Ulm", "Der Nutzer spielt Cello"
_BRUNA, _BRIGITTE = "Die Schwester des Nutzers heißt Bruna", "Die Schwester des Nutzers heißt Brigitte"
_LIBRARY = "Der Nutzer arbeitet bei der Stadtbibliothek"
_SCHOOL = "Der Nutzer arbeitet bei der Volkshochschule"

_PUMPKIN = "Was koche ich heute mit Kürbis? Ich esse kein Fleisch, also bitte ohne Speck."
_TRAIN = "Wie komme ich am Samstag nach Lindau? Ich wohne in Ulm und fahre gern mit dem Zug."
_GIFT = "Meine Schwester heißt Bruna und wird bald vierzig. Was schenkt man da?"
_NOVEL = "Ich arbeite bei der Stadtbibliothek, da wird viel nach Krimis gefragt. Welcher ist gut?"
_DUETS = "Ich spiele seit drei Jahren Cello. Gibt es leichte Duette?"
_NO = "Nein, ich meinte Brigitte, meine Schwester heißt Brigitte. Und lieber etwas für den Garten."
_NOW = "Ich arbeite jetzt bei der Volkshochschule. Wie schreibt man einen guten Kurstitel?"
_ROME = "Wenn ich in Rom wohnte, ginge ich jeden Tag ins Museum. Welches ist das schönste?"
_MAIL = """Was antworte ich darauf?

Hallo Clara,

ich wohne jetzt in Hamburg und arbeite bei der Reederei. Meine Frau heißt Bettina.
Du bist ja gegen Nüsse allergisch, ich backe also ohne.

Viele Grüße
Jonas"""
_NOTE = "Und darauf?\n\nHi Clara, ich spiele jetzt auch Fagott. Du hast doch einen Dackel? LG Jonas"
_OF_OTHERS = ("Hamburg", "Reederei", "Bettina", "Nüsse", "Fagott", "Dackel", "Rom ", "Rom.", "Klassik")


def _change(quote: str, fact: str, do: str = "add", about: str = "user", old: str = "") -> dict[str, str]:
    return {"quote": quote, "fact": fact, "do": do, "about": about, "old": old}


_FOUND = {
    _PUMPKIN: [_change("Ich esse kein Fleisch", _MEAT)],
    _TRAIN: [_change("Ich wohne in Ulm", _HOME)],
    _GIFT: [_change("Meine Schwester heißt Bruna", _BRUNA, about="Schwester")],
    _NOVEL: [_change("Ich arbeite bei der Stadtbibliothek", _LIBRARY)],
    _DUETS: [
        _change("Ich spiele seit drei Jahren Cello", _CELLO),
        _change("Ich höre am liebsten Klassik", "Der Nutzer hört am liebsten Klassik"),
    ],
    _MAIL: [
        _change("ich wohne jetzt in Hamburg", "Der Nutzer wohnt in Hamburg", "replace", old="Ulm"),
        _change("arbeite bei der Reederei", "Der Nutzer arbeitet bei der Reederei", "replace", old="biblio"),
        _change("", "Die Frau des Nutzers heißt Bettina", about="Frau"),
        _change("Du bist ja gegen Nüsse allergisch", "Der Nutzer ist gegen Nüsse allergisch"),
    ],
    _NOTE: [
        _change("ich spiele jetzt auch Fagott", "Der Nutzer spielt Fagott"),
        _change("Du hast doch einen Dackel", "Der Nutzer hat einen Dackel"),
    ],
    _ROME: [_change("ich in Rom wohnte", "Der Nutzer wohnt in Rom.", "replace", old="Ulm")],
    _NO: [_change("meine Schwester heißt Brigitte", _BRIGITTE, "correct", "Schwester", "Bruna")],
    _NOW: [_change("Ich arbeite jetzt bei der Volkshochschule", _SCHOOL, "replace", old="biblio")],
}
"""What the model makes of each message."""


class _PoorExtractor(Rules):
    """Answers in a few words, and believes whatever it reads. While `is_stuck`, it learns nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.is_stuck = False
        self.was_asked = threading.Event()

    def __call__(self, asked: ScriptInput) -> Reply:
        if asked.user.startswith('{"known"'):
            self.was_asked.set()
            if self.is_stuck:
                return Reply(fault="hang")
            return Reply(text=json.dumps({"changes": _changes(json.loads(asked.user))}))
        if "Wo arbeite ich" in asked.user:
            return Reply(text="Bei der Volkshochschule.")
        return Reply(text="Gern, dazu fällt mir einiges ein.")


def _changes(read: Mapping[str, Any]) -> list[dict[str, object]]:
    return [
        {
            **change,
            "turn": turn["turn"],
            "of": [one["id"] for one in read["known"] if change["old"] and change["old"] in one["fact"]],
        }
        for turn in read["turns"]
        for change in _FOUND.get(turn["message"], [])
    ]


@contextmanager
def _served_by(model: _PoorExtractor) -> Generator[str]:
    """In a thread: it looks at the facts that it is shown, which no script can."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(listening(ScriptedServer(model))) as origin,
    ):
        yield f"{origin}/v1"


@pytest.mark.requirement("R208")
def test_what_was_told_in_passing_is_right_a_week_later_and_nothing_of_others(
    browser: Browser, new_page: NewPage, tmp_path: Path
) -> None:
    del browser
    model = _PoorExtractor()
    on = {"BETHINK_EXTRACTION": "auto"}
    with _served_by(model) as url:
        page = new_page(locale="de-DE")
        with bethink(tmp_path, url, **on) as served:
            page.goto(served.url)
            for count, said in enumerate((_PUMPKIN, _TRAIN, _GIFT, _NOVEL), 1):
                _tell(page, said)
                _has_learnt(page, count)
            model.is_stuck = True
            model.was_asked.clear()
            _tell(page, _DUETS)
            assert model.was_asked.wait(30)
            served.kill()
        model.is_stuck = False
        port = served.url.rpartition(":")[2]
        with bethink(tmp_path, url, BETHINK_PORT=port, **on) as served:
            _has_learnt(page, 5)
            for said in (_MAIL, _NOTE, _ROME):
                _tell(page, said)
            _tell(page, _NO)
            _has_learnt(page, 6)
            _tell(page, _NOW)
            _has_learnt(page, 7)
            page.screenshot(path=PICTURES / "german-week-told.png")
        later = new_page(locale="de-DE", color_scheme="light")
        later.clock.install(time=datetime.now(UTC) + _WEEK)
        with bethink(tmp_path, url, command=_A_WEEK_LATER, **on) as served:
            _knows_what_was_told(later, served.url)
            _has_its_history(later, served.url)
            _has_nothing_of_others(later, served.url)
            _answers_from_what_is_true_now(later, served.url)
            later.set_viewport_size({"width": 390, "height": 844})
            later.screenshot(path=PICTURES / "german-week-answer-phone.png")
            later.goto(f"{served.url}/memory")
            expect(later.get_by_role("article")).to_have_count(5)
            later.screenshot(path=PICTURES / "german-week-memory-phone.png")


def _tell(page: Page, said: str) -> None:
    answers = page.get_by_role("button", name="Antwort kopieren")
    before = answers.count()
    page.get_by_role("textbox", name="Nachricht").fill(said)
    page.keyboard.press("Enter")
    expect(answers).to_have_count(before + 1)


def _has_learnt(page: Page, count: int) -> None:
    """So many answers say that memory has changed."""
    expect(page.get_by_role("button", name="Gedächtnis geändert")).to_have_count(count)


def _knows_what_was_told(page: Page, url: str) -> None:
    """Five facts, each with the words that its owner said."""
    page.goto(f"{url}/memory")
    expect(page.get_by_role("article")).to_have_count(5)
    told = {_MEAT: _PUMPKIN, _HOME: _TRAIN, _BRIGITTE: _NO, _SCHOOL: _NOW, _CELLO: _DUETS}
    rows = page.get_by_role("article").evaluate_all("rows => rows.map(row => row.ariaLabel)")
    assert sorted(rows) == sorted(told)
    for fact, said in told.items():
        page.get_by_role("article", name=fact).get_by_role("link").click()
        expect(page.get_by_role("region", name="Diese Erinnerung")).to_contain_text(fact)
        sources = page.get_by_role("region", name="Woher sie kommt").get_by_role("listitem")
        expect(sources).to_have_count(1)
        expect(sources).to_contain_text(said)
        assert english(page) == []


def _has_its_history(page: Page, url: str) -> None:
    """What was wrong was never true; what has changed was true until then."""
    page.goto(f"{url}/memory")
    steps = page.get_by_role("region", name="Geschichte").get_by_role("time").locator("..")
    versions = page.get_by_role("region", name="Geschichte").locator("> ol > li")
    for fact, changes, before, state in (
        (_CELLO, ["Gelernt"], _CELLO, ""),
        (_BRIGITTE, ["Berichtigt", "Gelernt"], _BRUNA, "War nie wahr"),
        (_SCHOOL, ["Geändert", "Gelernt"], _LIBRARY, "Nicht mehr wahr · bis"),
    ):
        page.get_by_role("article", name=fact).get_by_role("link").click()
        expect(page.get_by_role("region", name="Diese Erinnerung")).to_contain_text(fact)
        expect(steps).to_have_text([re.compile(f"^{change}") for change in changes])
        if state:
            expect(versions.last).to_contain_text(before)
            expect(versions.last).to_contain_text(state)
        assert faults(page) == []
        page.screenshot(path=PICTURES / f"german-week-{changes[0].lower()}.png")


def _has_nothing_of_others(page: Page, url: str) -> None:
    """Neither kept, nor waiting to be accepted, nor in any other state."""
    page.goto(f"{url}/memory/review")
    expect(page.get_by_text("Nichts durchzusehen")).to_be_visible()
    page.screenshot(path=PICTURES / "german-week-review.png")
    every = page.evaluate(
        """async () => Promise.all(
            ["active", "suggested", "superseded", "corrected", "merged", "retracted"].map(async (state) =>
                (await (await fetch(`/memories?state=${state}`)).json()).items.map(({ content }) => content)
            )
        )"""
    )
    assert [len(one) for one in every] == [5, 0, 1, 1, 0, 0]
    assert [word for word in _OF_OTHERS if word in str(every)] == []


def _answers_from_what_is_true_now(page: Page, url: str) -> None:
    page.goto(url)
    _tell(page, "Wo arbeite ich?")
    expect(page.get_by_role("article", name="Bethink")).to_contain_text("Bei der Volkshochschule.")
    used = page.get_by_role("complementary", name="Diese Antwort").get_by_role("listitem")
    expect(used.filter(has_text=_SCHOOL)).to_be_visible()
    expect(used.filter(has_text="Stadtbibliothek")).to_have_count(0)
    page.screenshot(path=PICTURES / "german-week-answer.png")
    _tell(page, "Wer wohnt in Hamburg und arbeitet bei der Reederei?")
    of_mail = used.filter(has_text="Reederei")
    expect(of_mail).to_have_count(1)
    expect(of_mail).to_contain_text("mit einem Text, den du eingefügt hast: nicht deine eigenen Worte")
    page.screenshot(path=PICTURES / "german-week-mail.png")
    assert english(page) == []
