"""Preferences: how an owner wants to be answered, in which language and time zone. A feature.

Every run of the owner's is told what they wish, whatever door it came through. Their time zone holds for all
that is theirs; `accounts` asks for it. No tool reaches them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import msgspec

from bethink.clock import check_time_zone
from bethink.errors import BadInput
from bethink.feature import BackgroundTask, DocumentForm, Feature, OpenFeature, Surroundings
from bethink.record_texts import RecordTexts
from bethink.store import Collection, Put, Record, Store, owners_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.principal import Principal

KIND: Final = "preferences"
ID: Final = "preferences"
TOPIC: Final = "preferences"
MAX_INSTRUCTIONS: Final = 4_000
MAX_WORDS: Final = 200
MAX_DAYS: Final = 36_500
_LONGEST: Final = {"instructions": MAX_INSTRUCTIONS, "tone": MAX_WORDS, "language": MAX_WORDS}


class Preferences(Record, frozen=True, kw_only=True):
    """What an owner wishes: empty, or None, if they said nothing.

    Conversations in which nothing was said for `conversation_days` are deleted.
    """

    id: str = ID
    schema: int = 1
    instructions: str = ""
    tone: str = ""
    language: str = ""
    time_zone: str | None = None
    model: str | None = None
    conversation_days: int | None = None

    @property
    def told(self) -> str:
        """As a model is told; empty if there is nothing to tell."""
        lines = [self.instructions]
        lines += [f"Tone of your answers: {self.tone}."] if self.tone else []
        lines += [f"Answer in {self.language} unless asked otherwise."] if self.language else []
        return "\n".join(filter(None, lines))


PREFERENCES: Final = Collection("preferences", Preferences, searchable=False)


@dataclass(slots=True)
class PreferenceBook:
    """The preferences of all owners; every call acts for one principal."""

    store: Store
    bus: Bus
    _zones: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    async def of(self, principal: Principal) -> Preferences:
        """The owner's."""
        (held,) = await self.store.get(PREFERENCES, principal.owner, [ID])
        return held.record if held else Preferences()

    @retry_conflicts
    async def change(self, principal: Principal, values: Mapping[str, str | int | None]) -> Preferences:
        """Change some of them, by their names; None is to say nothing of it any more.

        Raises:
            BadInput: a text is too long, there is no such time zone, or there are too many days.
        """
        (held,) = await self.store.get(PREFERENCES, principal.owner, [ID])
        was = held.record if held else Preferences()
        nothing = Preferences()
        given = {name: getattr(nothing, name) if one is None else one for name, one in values.items()}
        now = await checked(msgspec.structs.replace(was, **given))
        await self.store.commit(principal.owner, [Put(PREFERENCES, now, held.version if held else 0)])
        self._know(principal.owner, now)
        await self.bus.publish(TOPIC, principal.owner)
        return now

    def zone(self, owner: str) -> str | None:
        """The owner's time zone, if they named one."""
        return self._zones.get(owner)

    async def load(self) -> None:
        """Know the time zones of all owners."""
        async for owner in owners_of(self.store, PREFERENCES):
            await self.look_again(owner)

    async def look_again(self, owner: str) -> None:
        """Know an owner's time zone as it is kept now."""
        (held,) = await self.store.get(PREFERENCES, owner, [ID])
        zone = held.record.time_zone if held else None
        if zone is not None:
            await anyio.to_thread.run_sync(check_time_zone, zone)
        self._know(owner, held.record if held else Preferences())

    async def hear(self) -> None:
        """Know of changes in other processes, for ever."""
        async with self.bus.subscribe(TOPIC) as notices:
            async for notice in notices:
                await (self.load() if notice.payload is None else self.look_again(notice.payload))

    def _know(self, owner: str, now: Preferences) -> None:
        if now.time_zone is None:
            self._zones.pop(owner, None)
        else:
            self._zones[owner] = now.time_zone


async def checked(preferences: Preferences) -> Preferences:
    """The preferences, fit to be kept.

    Raises:
        BadInput: a text is too long, or there is no such time zone.
    """
    texts: dict[str, str] = {}
    for name, most in _LONGEST.items():
        text: str = getattr(preferences, name).replace("\0", "").strip()
        if len(text) > most:
            raise BadInput(f"The {name} may have at most {most:,} characters.")
        texts[name] = text if name == "instructions" else " ".join(text.split())
    if preferences.time_zone is not None:
        await anyio.to_thread.run_sync(check_time_zone, preferences.time_zone)
    if preferences.conversation_days is not None and not 1 <= preferences.conversation_days <= MAX_DAYS:
        raise BadInput(f"Conversations are kept for 1 to {MAX_DAYS:,} days.")
    model = (preferences.model or "").strip()[:MAX_WORDS] or None
    return msgspec.structs.replace(preferences, id=ID, schema=1, model=model, **texts)


def _form(store: Store, know: Callable[[str], Awaitable[None]]) -> DocumentForm:
    async def export(owner: str) -> AsyncGenerator[Sequence[Mapping[str, Any]]]:
        (held,) = await store.get(PREFERENCES, owner, [ID])
        if held is not None:
            yield [{"kind": KIND, **msgspec.to_builtins(held.record)}]

    def parse(document: Mapping[str, Any]) -> Preferences:
        return msgspec.convert(dict(document), Preferences)

    async def restore(owner: str, found: Sequence[Preferences], is_preview: bool) -> list[str]:  # noqa: FBT001 - as DocumentForm has it
        (here,) = await store.get(PREFERENCES, owner, [ID])
        now = [await checked(one) for one in found]
        if here is None and now and not is_preview:
            await store.commit(owner, [Put(PREFERENCES, now[0], 0)])
            await know(owner)
        return ["said" if here is None else "known" if here.record == one else "differing" for one in now]

    return DocumentForm(kind=KIND, export=export, parse=parse, restore=restore, made_at=lambda _: 0)


def _open(at: Surroundings) -> OpenFeature:
    book = PreferenceBook(at.store, at.bus)
    texts = RecordTexts(
        store=at.store,
        collection=PREFERENCES,
        kind="preferences",
        one="preferences",
        name=lambda _: "your preferences",
        fields=lambda one: {"instructions": one.instructions, "tone": one.tone},
        sentences=frozenset(("instructions", "tone")),
        rewrite=lambda one, left: msgspec.structs.replace(one, **left),
    )
    return OpenFeature(
        service=book,
        forgettable=texts.forgettable,
        cut=texts.cut,
        clean=book.look_again,
        documents=[_form(at.store, book.look_again)],
        tasks=[BackgroundTask(name="preferences changed elsewhere", run=book.hear)],
    )


FEATURE: Final = Feature(
    name="preferences",
    open=_open,
    collections=(PREFERENCES,),
    counted={"preferences": ("preferences", PREFERENCES)},
    routes=("bethink.web.preferences",),
)
