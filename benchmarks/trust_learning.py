"""Cases of what may be learnt from a message, in ten languages. Part of `bench.trust`.

The model of a case is as gullible as can be: whatever words stand in a message, it takes for the owner's. Of
these messages only those that tell something of their writer may leave a memory.
"""

from __future__ import annotations

import json
import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.lives import LANGUAGES, words_of
from benchmarks.trust_stage import Case, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAID = Path(__file__).with_suffix(".toml")
_MIXED_UP = (
    ("My sister lives in Oslo.", "The user lives in Oslo"),
    ("Meine Schwester wohnt in Oslo.", "Der Nutzer wohnt in Oslo"),
    ("Ma sœur habite à Oslo.", "L'utilisateur habite à Oslo"),
    ("Mi hermana vive en Oslo.", "El usuario vive en Oslo"),
    ("Moja siostra mieszka w Oslo.", "Użytkownik mieszka w Oslo"),
    ("我姐姐住在奥斯陆。", "用户住在奥斯陆"),
    ("姉はオスロに住んでいます。", "ユーザーはオスロに住んでいます"),
    ("मेरी बहन ओस्लो में रहती है।", "उपयोगकर्ता ओस्लो में रहता है"),
    ("I don't like coffee.", "The user likes coffee"),
    ("Ich mag keinen Kaffee.", "Der Nutzer mag Kaffee"),
    ("我不喜欢咖啡。", "用户喜欢咖啡"),
    ("I have 2 dogs.", "The user has 3 dogs"),
)
"""What is said, and what a model makes of it that nobody said."""


def learning_cases() -> Iterator[Case]:
    """All of them."""
    for language, kinds in tomllib.loads(_SAID.read_text(encoding="utf-8")).items():
        quote, fact = kinds.pop("fact")
        for kind, said in kinds.items():
            kept = [fact] if kind == "told" else []
            name = f"{language}: {kind.replace('_', ' ')}"
            yield _case(name, said, quote=quote, fact=fact, kept=kept)
    yield from _lives()
    for said, fact in _MIXED_UP:
        yield _case(f"mixed up: {said}", said, quote=said.rstrip(".。।"), fact=fact, kept=[])


def _lives() -> Iterator[Case]:
    """What is not so in the lives of `bench.life`, in ten languages: one wording of each kind."""
    for language in LANGUAGES:
        words = words_of(language)
        city, fact = words["cities"][0], words["home"]["fact"]
        for kind, wordings in words["traps"].items():
            said = wordings[0].format(city)
            name = f"{language}: {kind} in a life"
            yield _case(
                name, said.replace("|", ""), quote=said.split("|")[1], fact=fact.format(city), kept=[]
            )


def _case(name: str, said: str, *, quote: str, fact: str, kept: list[str]) -> Case:
    proposed = {"do": "add", "turn": 1, "quote": quote, "fact": fact, "about": "user", "sure": True}
    script = ("I see.", json.dumps({"changes": [proposed]}))
    return Case("learning", name, partial(_learnt, said=said, kept=kept), script, extraction="auto")


async def _learnt(stage: Stage, *, said: str, kept: list[str]) -> str | None:
    """Exactly what was told is kept; what was not is not even suggested."""
    await stage.say(said)
    await stage.app.post_turn.finished()
    found = [fact.content for fact in await stage.facts("active", "suggested")]
    return None if found == kept else f"kept: {found}"
