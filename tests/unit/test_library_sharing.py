"""Collections that are shared: who sees and changes what, and that revoking holds at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from bethink.documents.model import DocumentEdit, DocumentQuery, NewDocument, Scope
from bethink.documents.records import DocumentCollection
from bethink.errors import BadInput, NotAllowed, UnknownId
from bethink.principal import Principal
from bethink.vault.filters.rules import FilterRule
from tests.reading import Reading, open_reading

pytestmark = pytest.mark.anyio

ROOF = "The roof of the barn leaks above the third beam."
OWN = "The boat Albatross needs a new sail."


@dataclass(frozen=True, slots=True)
class Shared:
    """Two users; a collection of the first, and a document in it."""

    reading: Reading
    me: Principal
    other: Principal
    farm: DocumentCollection
    barn: str

    async def names(self, who: Principal, query: str = "Which beam leaks?") -> list[str]:
        return [hit.document.name for hit in await self.reading.library.search(who, query)]


@asynccontextmanager
async def shared() -> AsyncGenerator[Shared]:
    async with open_reading() as reading:
        register = reading.house.app.accounts.register
        ada, bob = await register.add_user("ada", is_admin=True), await register.add_user("bob")
        me, other = Principal(ada.id, audience="web"), Principal(bob.id, audience="web")
        farm = await reading.library.create_collection(me, "Farm")
        barn = await reading.add("barn.txt", ROOF, who=me, collection="Farm")
        await reading.add("private.txt", f"{ROOF} {OWN}", who=me)
        yield Shared(reading, me, other, farm, barn.id)


async def test_what_is_shared_is_found_and_says_whose_it_is() -> None:
    async with shared() as at:
        library = at.reading.library
        assert await at.names(at.other) == []
        await library.sharing.share(at.me, at.farm.id, "bob", writes=False)
        await at.reading.add("mine.txt", "A beam of my own leaks.", who=at.other)
        hits = await library.search(at.other, "Which beam leaks?")
        assert {(hit.document.name, hit.owner) for hit in hits} == {
            ("barn.txt", at.me.owner),
            ("mine.txt", None),
        }
        within = await library.search(at.other, "beam", scope=Scope(collection=at.farm.id))
        assert [hit.document.name for hit in within] == ["barn.txt"]
        content = hits[0].content.id if hits[0].owner else hits[1].content.id
        assert [page.text for page in await library.pages(at.other, content)] == [ROOF]
        assert (await library.original(at.other, content)).is_file()
        (listed,) = (await library.list(at.other, DocumentQuery(collection=at.farm.id))).items
        assert (listed.document.id, listed.owner) == (at.barn, at.me.owner)
        (given,) = await library.shared_collections(at.other)
        assert (given.collection.name, given.owner, given.writes) == ("Farm", at.me.owner, False)
        assert await library.count(at.other, at.farm.id) == 1


async def test_revoked_nothing_of_it_is_seen_any_more() -> None:
    async with shared() as at:
        library = at.reading.library
        await library.sharing.share(at.me, at.farm.id, "bob", writes=True)
        document = await library.get(at.other, at.barn)
        await library.sharing.unshare(at.me, at.farm.id, "bob")
        assert await at.names(at.other) == []
        assert await library.shared_collections(at.other) == []
        for call in (library.get, library.state, library.remove):
            with pytest.raises(UnknownId):
                await call(at.other, at.barn)
        for call in (library.pages, library.content, library.original):
            with pytest.raises(UnknownId):
                await call(at.other, document.content)
        with pytest.raises(UnknownId):
            await library.list(at.other, DocumentQuery(collection=at.farm.id))
        assert await at.names(at.me) != []


async def test_who_may_read_may_not_write() -> None:
    async with shared() as at:
        library, new = at.reading.library, NewDocument(name="x.txt", content=b"x")
        await library.sharing.share(at.me, at.farm.id, "bob", writes=False)
        with pytest.raises(NotAllowed):
            await library.add(at.other, NewDocument(name="x.txt", content=b"x", collection=at.farm.id))
        with pytest.raises(NotAllowed):
            await library.replace(at.other, at.barn, new)
        with pytest.raises(NotAllowed):
            await library.change(at.other, at.barn, DocumentEdit(name="mine.txt"))
        with pytest.raises(NotAllowed):
            await library.remove(at.other, at.barn)
        with pytest.raises(UnknownId):
            await library.change_collection(at.other, at.farm.id, name="Mine")
        with pytest.raises(UnknownId):
            await library.remove_collection(at.other, at.farm.id, documents=True)
        with pytest.raises(UnknownId):
            await library.sharing.share(at.other, at.farm.id, "ada", writes=True)


async def test_who_may_write_adds_to_the_owners_documents() -> None:
    async with shared() as at:
        library = at.reading.library
        await library.sharing.share(at.me, at.farm.id, "bob", writes=True)
        new = NewDocument(name="x.txt", content=b"The stable has nine horses.", collection="Farm")
        added = await library.add(at.other, new)
        await at.reading.settled(added.content, who=at.me)
        assert (await at.names(at.me, "How many horses?"))[0] == "x.txt"
        assert (await at.names(at.other, "How many horses?"))[0] == "x.txt"
        with pytest.raises(NotAllowed, match="Only its owner"):
            await library.change(at.other, added.id, DocumentEdit(collection=None))
        await library.remove(at.other, added.id)
        assert "x.txt" not in await at.names(at.me, "How many horses?")


async def test_what_is_taken_out_of_a_collection_is_not_shared_any_more() -> None:
    async with shared() as at:
        await at.reading.library.sharing.share(at.me, at.farm.id, "bob", writes=False)
        await at.reading.library.change(at.me, at.barn, DocumentEdit(collection=None))
        assert await at.names(at.other) == []
        with pytest.raises(UnknownId):
            await at.reading.library.get(at.other, at.barn)


async def test_filters_of_the_owner_hold_for_readers() -> None:
    async with shared() as at:
        library = at.reading.library
        await library.sharing.share(at.me, at.farm.id, "bob", writes=False)
        document = await library.get(at.me, at.barn)
        await at.reading.house.app.visibility.filters.add(at.me, FilterRule(pattern="third beam"))
        (page,) = await library.pages(at.other, document.content)
        assert "third beam" not in page.text
        assert not any("third beam" in hit.text for hit in await library.search(at.other, "beam leaks"))
        with pytest.raises(NotAllowed, match="read its text"):
            await library.original(at.other, document.content)
        assert "third beam" in (await library.pages(at.me, document.content))[0].text


async def test_a_removed_users_shares_are_not_those_of_the_next_with_the_name() -> None:
    async with shared() as at:
        library, register = at.reading.library, at.reading.house.app.accounts.register
        farm = await library.sharing.share(at.me, at.farm.id, "bob", writes=True)
        assert len(await library.sharing.living(farm)) == 1
        await register.remove_user(at.other.owner)
        assert await library.sharing.living(farm) == ()
        at.reading.house.clock.advance(1)
        again = await register.add_user("bob")
        assert await at.names(Principal(again.id, audience="web")) == []
        assert await library.sharing.living(farm) == ()


async def test_nobody_shares_with_nobody_or_with_themselves() -> None:
    async with shared() as at:
        sharing = at.reading.library.sharing
        with pytest.raises(UnknownId, match="no user"):
            await sharing.share(at.me, at.farm.id, "eve", writes=False)
        with pytest.raises(BadInput, match="your own"):
            await sharing.share(at.me, at.farm.id, "ada", writes=False)
        with pytest.raises(UnknownId):
            await sharing.share(at.me, "none", "bob", writes=False)
