"""Facts with models that write no proposals: they only tell a sentence again, in the third person.

`agent/extraction` asks so if a model's window is small, or if its proposals were garbage again and again.
Code finds the sentences that their writer asserts, and tells what a fact replaces; the model is shown some
sentences in the language of the talk, and goes on. SmolLM2 with 135 million parameters can do that in
English, and writes no usable proposal.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Literal

from bethink.agent.proposals import THOUGHT
from bethink.assertions import (
    fits_owner,
    may_tell,
    names_writer,
    passages,
    share_said,
    tells_change,
    tells_end,
    tells_mistake,
)
from bethink.llm import LlmRequest
from bethink.messages import AssistantMessage, Message, UserMessage

if TYPE_CHECKING:
    from bethink.memory import Fact

_SYSTEM: Final = (
    "Tell again what a person says of their life, as a fact about the user: in the same language, with the"
    " same words, in the third person. Answer - if it tells nothing that lasts."
)
_OUTPUT_TOKENS: Final = 400
"""A fact takes twenty; a small model that thinks first needs the rest."""
_RELATED, _SAME, _MEANT = 0.34, 0.99, 0.5
"""Shares of words: of a fact that gives way, of one that says the same, of one that is to be forgotten."""
_MARKUP: Final = re.compile(r"<\|[^|>]{1,30}\|>|</?\w{1,20}>")
_WORD: Final = re.compile(r"\w+")
_DEVANAGARI: Final = re.compile("[\u0900-\u097f]")
_KANA: Final = re.compile("[\u3040-\u30ff]")
_HAN: Final = re.compile("[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence to be told again, or one by which known facts are forgotten, by their labels."""

    text: str
    forgets: tuple[str, ...] = ()


def statements(said: str, known: Mapping[str, Fact]) -> list[Statement]:
    """The sentences of a message that tell of their writer, in order."""
    found: list[Statement] = []
    for one in passages(said):
        if tells_end(one.text) and one.reason in {None, "requested"}:
            of = [label for label, fact in known.items() if share_said(fact.content, one.text) >= _MEANT]
            if of:
                found.append(Statement(one.text, tuple(of)))
                continue
        if one.reason is None and names_writer(one.text) and may_tell(one.text):
            found.append(Statement(one.text))
    return found


def restating(sentence: str) -> LlmRequest:
    """The request to tell a sentence again."""
    shown: list[Message] = []
    examples = _examples()[_language_of(sentence)]
    for said, fact in zip(examples["said"], examples["fact"], strict=True):
        shown += [UserMessage(said), AssistantMessage(fact)]
    return LlmRequest(
        system=_SYSTEM,
        messages=(*shown, UserMessage(sentence)),
        temperature=0,
        max_output_tokens=_OUTPUT_TOKENS,
    )


def told_again(answer: str) -> str | None:
    """The fact in an answer; None if it is none."""
    text = _MARKUP.sub("\n", THOUGHT.sub(" ", answer)).strip()
    line = text.splitlines()[0].strip().rstrip(".。।") if text else ""
    return line if not line.startswith(("{", "[", "-")) and fits_owner(line) else None


def stands_to(
    fact: str, said: str, known: Mapping[str, Fact]
) -> tuple[Literal["add", "replace", "correct"], tuple[str, ...]]:
    """What a new fact does to which of the known ones, by what the message says and by their words."""
    is_mistake = tells_mistake(said)
    if not is_mistake and not tells_change(said):
        return "add", ()
    shares = {label: share_said(fact, one.content) for label, one in known.items()}
    alike = {label: share for label, share in shares.items() if _RELATED <= share < _SAME}
    if not alike:
        return "add", ()
    return "correct" if is_mistake else "replace", (max(alike, key=alike.__getitem__),)


@cache
def _examples() -> Mapping[str, Mapping[str, Sequence[str]]]:
    text = resources.files("bethink.agent").joinpath("sentence_extraction.toml").read_text("utf-8")
    read: dict[str, Any] = tomllib.loads(text)
    return read


@cache
def _words() -> Mapping[str, frozenset[str]]:
    """The words of each language's examples."""
    return {
        language: frozenset(word for text in told["said"] for word in _WORD.findall(text.casefold()))
        for language, told in _examples().items()
    }


def _language_of(sentence: str) -> str:
    """The language whose examples are most like a sentence; English if none is."""
    for pattern, language in ((_DEVANAGARI, "hi"), (_KANA, "ja"), (_HAN, "zh")):
        if pattern.search(sentence):
            return language
    said = set(_WORD.findall(sentence.casefold()))
    return max(_examples(), key=lambda language: len(said & _words()[language]))
