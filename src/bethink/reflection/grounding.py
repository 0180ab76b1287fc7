"""What a model writes of facts, checked against them: a sentence that they do not bear out is left out.

Each sentence names the facts that it is told from; its names, numbers and denials, and half of the words that
tell something, must stand in these. An insight says what no single fact says, from two or more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from bethink.assertions import denies_alike, mixes_people_up, names_said, share_said
from bethink.memory.facts import secret_in

if TYPE_CHECKING:
    from bethink.memory import Fact

_MOST_CHARS: Final = 300
_MOST_CITED: Final = 6
_TOLD: Final = 0.5
"""Of the telling words of a sentence, so many are those of its facts; an insight is said in new ones."""
_SHOWN: Final = 0.34
_RESTATED: Final = 0.85
_LEAST_SHOWING: Final = 2

Told = tuple[str, tuple[str, ...]]
"""A text, and the labels of the facts that it names."""


def told_in(raw: Any, name: Literal["sentences", "insights"]) -> list[Told]:  # noqa: ANN401 - JSON of any shape
    """The entries of an answer under this name, as far as they are any."""
    entries = cast("dict[str, Any]", raw).get(name) if isinstance(raw, dict) else None
    if not isinstance(entries, list):
        return []
    return [told for entry in cast("list[Any]", entries) if (told := _told(entry)) is not None]


def _told(entry: Any) -> Told | None:  # noqa: ANN401 - JSON of any shape
    if not isinstance(entry, dict):
        return None
    held = cast("dict[str, Any]", entry)
    text, cited = held.get("text"), held.get("from")
    if not isinstance(text, str) or not isinstance(cited, list):
        return None
    labels = [one for one in cast("list[Any]", cited) if isinstance(one, str)]
    return " ".join(text.split()), tuple(dict.fromkeys(labels))


def cited_of(told: Told, labels: Mapping[str, Fact]) -> Sequence[Fact] | None:
    """The facts that a text names; None if it names none, too many, or one that there is not."""
    text, named = told
    if not 1 <= len(named) <= _MOST_CITED or not 1 < len(text) <= _MOST_CHARS or secret_in(text):
        return None
    return [labels[one] for one in named] if all(one in labels for one in named) else None


def is_told(text: str, cited: Sequence[Fact]) -> bool:
    """Whether the facts say what a sentence tells of them."""
    said = " ".join(fact.content for fact in cited)
    return _is_borne_out(text, said) and share_said(text, said) >= _TOLD


def is_shown(text: str, cited: Sequence[Fact]) -> bool:
    """Whether several facts may show what none of them says."""
    said = " ".join(fact.content for fact in cited)
    return (
        len(cited) >= _LEAST_SHOWING
        and _is_borne_out(text, said)
        and share_said(text, said) >= _SHOWN
        and all(share_said(text, fact.content) < _RESTATED for fact in cited)
    )


def _is_borne_out(text: str, said: str) -> bool:
    return (
        names_said(text, said) and denies_alike(text, said) is not False and not mixes_people_up(text, said)
    )
