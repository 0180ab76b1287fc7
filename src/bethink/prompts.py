"""Prompts: texts that their owner sends again and again, with places to fill in. A feature.

`{{topic}}` is a variable, `{{tone|formal}}` one with a value that it has if nothing else is given. The page
and `bethink prompts use` fill them in; what is sent then is a message like any other. No tool reaches them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.clock import Clock, Ids, checked_id
from bethink.errors import BadInput, UnknownId
from bethink.feature import Feature, OpenFeature, Surroundings
from bethink.record_texts import RecordLines, RecordTexts, as_document, of_document
from bethink.store import Collection, Delete, Put, Record, Scan, Store, Versioned, records_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.principal import Principal

KIND: Final = "prompt"
MAX_NAME_CHARS: Final = 80
MAX_TEXT_CHARS: Final = 20_000
MAX_PROMPTS: Final = 500
"""Of one owner: all of them are read to complete what is typed."""
_PAGE: Final = 500
_VARIABLE: Final = re.compile(r"\{\{[ \t]*([^\W\d][\w -]{0,59}?)[ \t]*(?:\|([^{}|]{0,500}))?\}\}")
"""Two braces, a name of letters, digits, spaces and hyphens, and perhaps a default behind a bar."""


class Prompt(Record, frozen=True, kw_only=True):
    """One prompt. Times are microseconds UTC; `folded` is its name as it is compared."""

    name: str
    text: str
    folded: str
    created_at: int
    updated_at: int


PROMPTS: Final = Collection(
    "prompts", Prompt, ("folded", "created_at"), scans=(("created_at",),), searchable=False
)


@dataclass(frozen=True, slots=True)
class Variable:
    """A place to fill in; `default` is None if it has to be."""

    name: str
    default: str | None = None


def variables_of(text: str) -> tuple[Variable, ...]:
    """The variables of a text, each once, in their order; the first default of a name holds."""
    found: dict[str, str | None] = {}
    for name, default in ((match[1], match[2]) for match in _VARIABLE.finditer(text)):
        if found.get(name) is None:
            found[name] = None if default is None else default.strip()
    return tuple(Variable(name, default) for name, default in found.items())


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with values in place of its variables. Braces inside a value stay as they are.

    Raises:
        BadInput: a variable without a default has no value, or a value is for none.
    """
    variables = {one.name: one.default for one in variables_of(text)}
    if unknown := [name for name in values if name not in variables]:
        known = ", ".join(variables) or "none"
        raise BadInput(f"This prompt has no variable {unknown[0]!r}. Its variables: {known}.")
    chosen = {name: values.get(name) or default for name, default in variables.items()}
    if missing := [name for name, value in chosen.items() if value is None]:
        raise BadInput(f"Give a value for {', '.join(missing)}.")
    return _VARIABLE.sub(lambda match: chosen[match[1]] or "", text)


@dataclass(frozen=True, slots=True)
class PromptLibrary:
    """The prompts of all owners; every call acts for one principal."""

    store: Store
    clock: Clock
    new_id: Ids

    async def list(self, principal: Principal) -> list[Prompt]:
        """All of them, by their names."""
        found = records_of(self.store, principal.owner, Scan(PROMPTS, limit=_PAGE))
        return sorted([prompt async for prompt in found], key=lambda prompt: (prompt.folded, prompt.id))

    async def get(self, principal: Principal, id: str) -> Prompt:
        """One of them.

        Raises:
            UnknownId: this owner has none of this id.
        """
        return (await self._held(principal, id)).record

    async def find(self, principal: Principal, name: str) -> Prompt:
        """The one of this name or id.

        Raises:
            UnknownId: there is none.
        """
        folded = _folded(name)
        for prompt in await self.list(principal):
            if folded == prompt.folded or name == prompt.id:
                return prompt
        raise UnknownId(f"There is no prompt {name[:80]!r}. `bethink prompts list` shows them.")

    async def add(self, principal: Principal, name: str, text: str) -> Prompt:
        """Keep a prompt.

        Raises:
            BadInput: its name or text is empty or too long, the name is taken, or there are too many.
        """
        now = self.clock.now_us()
        prompt = Prompt(id=self.new_id(), name=name, text=text, folded="", created_at=now, updated_at=now)
        prompt = checked(prompt)
        here = await self.list(principal)
        if len(here) >= MAX_PROMPTS:
            raise BadInput(f"There are {MAX_PROMPTS:,} prompts already: delete one first.")
        _check_free(prompt, here)
        await self.store.commit(principal.owner, [Put(PROMPTS, prompt, 0)])
        return prompt

    @retry_conflicts
    async def update(
        self, principal: Principal, id: str, *, name: str | None = None, text: str | None = None
    ) -> Prompt:
        """Change its name or text; what is not given stays.

        Raises:
            UnknownId: this owner has none of this id.
            BadInput: as for `add`.
        """
        held = await self._held(principal, id)
        was = held.record
        now = checked(
            msgspec.structs.replace(
                was,
                name=was.name if name is None else name,
                text=was.text if text is None else text,
                updated_at=self.clock.now_us(),
            )
        )
        _check_free(now, await self.list(principal))
        await self.store.commit(principal.owner, [Put(PROMPTS, now, held.version)])
        return now

    async def delete(self, principal: Principal, id: str) -> None:
        """Remove it.

        Raises:
            UnknownId: this owner has none of this id.
        """
        await self._held(principal, id)
        await self.store.commit(principal.owner, [Delete(PROMPTS, id)])

    async def _held(self, principal: Principal, id: str) -> Versioned[Prompt]:
        (held,) = await self.store.get(PROMPTS, principal.owner, [id])
        if held is None:
            raise UnknownId("There is no such prompt. It may have been deleted.")
        return held


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _check_free(prompt: Prompt, here: Sequence[Prompt]) -> None:
    if any(one.folded == prompt.folded and one.id != prompt.id for one in here):
        raise BadInput(f"There is a prompt {prompt.name!r} already: choose another name.")


def checked(prompt: Prompt) -> Prompt:
    """The prompt, fit to be kept.

    Raises:
        BadInput: its name or text is empty, too long, or holds what cannot be kept.
    """
    name, text = " ".join(prompt.name.split()).lstrip("/"), prompt.text.strip()
    if not 0 < len(name) <= MAX_NAME_CHARS:
        raise BadInput(f"The name of a prompt has 1 to {MAX_NAME_CHARS} characters.")
    if not 0 < len(text) <= MAX_TEXT_CHARS:
        raise BadInput(f"The text of a prompt has 1 to {MAX_TEXT_CHARS:,} characters.")
    if "\0" in name + text:
        raise BadInput("A NUL character cannot be kept.")
    return msgspec.structs.replace(prompt, name=name, text=text, folded=_folded(name))


def _document(prompt: Prompt) -> dict[str, Any]:
    document = as_document(prompt)
    del document["folded"]
    return document


def _parsed(document: Mapping[str, Any]) -> Prompt:
    prompt = of_document({**document, "folded": ""}, Prompt)
    checked_id(prompt.id)
    return checked(prompt)


def _rewritten(prompt: Prompt, left: Mapping[str, str]) -> Prompt:
    now = msgspec.structs.replace(prompt, **left)
    return msgspec.structs.replace(now, folded=_folded(now.name))


def _open(at: Surroundings) -> OpenFeature:
    texts = RecordTexts(
        store=at.store,
        collection=PROMPTS,
        kind="prompts",
        one="prompt",
        name=lambda prompt: prompt.name,
        fields=lambda prompt: {"name": prompt.name, "text": prompt.text},
        sentences=frozenset(("name", "text")),
        rewrite=_rewritten,
    )
    return OpenFeature(
        service=PromptLibrary(at.store, at.clock, at.new_id),
        forgettable=texts.forgettable,
        cut=texts.cut,
        documents=[
            RecordLines(store=at.store, collection=PROMPTS, kind=KIND, parse=_parsed, document=_document).form
        ],
    )


FEATURE: Final = Feature(
    name="prompts",
    open=_open,
    collections=(PROMPTS,),
    counted={"prompts": ("prompt", PROMPTS)},
    routes=("bethink.web.prompts",),
    commands="bethink.cli.prompts",
)
