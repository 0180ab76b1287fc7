"""Secrets are refused, and what only looks like one is kept: a published set of cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import HoldsSecret
from bethink.memory import NewFact
from bethink.memory.facts import secret_in
from tests.facts import TEA, active
from tests.house import open_house

CASES = [
    line.rsplit(" | ", 1)
    for line in (Path(__file__).parent / "secrets.txt").read_text("utf-8").splitlines()
    if " | " in line and not line.startswith("#")
]


@pytest.mark.parametrize(("text", "kind"), CASES)
def test_a_secret_is_told_from_what_looks_like_one(text: str, kind: str) -> None:
    assert (secret_in(text) or "none") == kind


@pytest.mark.anyio
async def test_a_secret_is_refused_with_its_kind_and_never_repeated() -> None:
    async with open_house() as house:
        with pytest.raises(HoldsSecret, match="a password") as refused:
            await house.app.memory.add_many(house.me, [TEA, NewFact("The password is hunter22")])
        assert (refused.value.code, refused.value.secret) == ("secret", "a password")
        assert "hunter22" not in str(refused.value)
        with pytest.raises(HoldsSecret):
            await house.app.memory.add(house.me, NewFact("Netflix", topics=("password: hunter22",)))
        kept = await house.app.memory.add(house.me, TEA)
        with pytest.raises(HoldsSecret):
            await house.app.memory.edit(house.me, kept.fact.id, NewFact("The PIN is 4821"))
        assert await active(house) == {"Likes tea"}


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    secret_in(text)


@pytest.mark.parametrize(
    "text", ["1 " * 4_000, "A1" * 4_000, "password is " * 700, "DE89" * 2_000, "pin for a" * 800]
)
def test_a_long_text_is_looked_through_soon(text: str) -> None:
    secret_in(text)
