"""The graph: what names the same, is alike or follows is found with what was searched for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bethink.errors import NotAllowed, UnknownId
from bethink.graph.names import names_of
from bethink.graph.view import way
from bethink.memory import NewFact
from tests.door import Door, open_door
from tests.house import House, open_house
from tests.knowledge import added, documents_of, embedded
from tests.library import plain_reading

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]

LEASE = b"The lease of the office in Harbour Street 7 was signed by Ines Prata."
PRATA = b"Our lawyer Ines Prata is on leave in August. Ask her partner."
BOAT = b"The boat Santa Luzia needs a coat of varnish, see [the list](boat-list.md)."
LIST = b"Brushes and two tins."
SOUP = b"Onions are cut into thin rings."
DOCUMENTS = {"lease.md": LEASE, "people.md": PRATA, "boat.md": BOAT, "boat-list.md": LIST, "soup.md": SOUP}


async def found(house: House, query: str, *, graph: bool, limit: int = 5) -> list[str]:
    bases = documents_of(house.app).bases
    hits = await bases.search(house.me, None, query, limit=limit, graph=graph, min_similarity=0.05)
    return [hit.document.name for hit in hits]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "We met Ines Prata and the Bank of Portugal in Lisbon.",
            ["Ines Prata", "Bank of Portugal", "Lisbon"],
        ),
        ("Horses sleep. They dream.", []),
        ("Ask Ada Quist. Ada Quist knows.", ["Ask Ada Quist", "Ada Quist"]),
        ("The NASA report AC-2026-17 says so.", ["NASA", "AC-2026-17"]),
        (
            "See [[entities/jane_doe|Jane]] and [this](../files/boat-list.md).",
            ["jane doe", "boat list"],
        ),
        ("Zürich, Ärzte und Ödön: Änne kennt Ödön.", ["Ärzte", "Ödön"]),
        ("Мы видели Анну Петрову вчера.", ["Анну Петрову"]),
        ("", []),
        ("a" * 10_000 + " B", []),
    ],
)
def test_names_are_capital_words_in_a_row_codes_and_links(text: str, names: list[str]) -> None:
    assert names_of(text) == names


@pytest.mark.requirement("C25")
async def test_the_graph_is_off_by_default_and_widens_a_search_by_one_hop_if_it_is_on() -> None:
    async with open_house() as house:
        await added(house, DOCUMENTS)
        assert await found(house, "Who signed the office lease?", graph=True) == ["lease.md"]
    async with open_house(graph_enabled=True) as house:
        await added(house, DOCUMENTS)
        assert await found(house, "Who signed the office lease?", graph=False) == ["lease.md"]
        assert await found(house, "Who signed the office lease?", graph=True) == ["lease.md", "people.md"]
        assert await found(house, "varnish for the boat", graph=True) == ["boat.md", "boat-list.md"]
        assert await found(house, "varnish for the boat", graph=True, limit=1) == ["boat.md"]


async def test_what_is_added_or_removed_is_so_in_the_graph_at_once() -> None:
    async with open_house(graph_enabled=True) as house:
        lease, people = await added(house, {"lease.md": LEASE, "people.md": PRATA})
        assert await found(house, "office lease", graph=True) == ["lease.md", "people.md"]
        await house.app.library.remove(house.me, people.id)
        assert await found(house, "office lease", graph=True) == ["lease.md"]
        view = await house.app.graph.view(house.me)
        assert "prata" not in str(view).casefold().replace("ines prata.", "")
        assert {node.whole for node in view.nodes if node.kind == "passage"} == {f"document:{lease.id}"}


async def test_who_does_not_see_all_gets_no_more_than_the_search_found() -> None:
    async def something(_: object) -> object:
        return object()

    async with open_house(graph_enabled=True) as house:
        await added(house, DOCUMENTS)
        found = await house.app.recall.find(house.me, "office lease", 1, kind="passage")
        graph = house.app.graph
        restrained = replace(graph, filter_for=something)
        assert await restrained.widened(house.me, "office lease", found, kind="passage") == found
        assert len(await graph.widened(house.me, "office lease", found, kind="passage")) > 1
        for refused in (
            restrained.view(house.me),
            restrained.focus(house.me, "name:ines prata"),
            restrained.search(house.me, "lease", 5),
            restrained.path(house.me, "name:ines prata", "name:ines prata"),
        ):
            with pytest.raises(NotAllowed):
                await refused


async def test_a_search_of_one_base_is_not_widened_beyond_it() -> None:
    async with open_house(graph_enabled=True) as house:
        base = await house.app.library.create_collection(house.me, "Office")
        await added(house, {"lease.md": LEASE}, collection=base.id)
        await added(house, {"people.md": PRATA})
        bases = documents_of(house.app).bases
        hits = await bases.search(house.me, "Office", "office lease", graph=True)
        assert [hit.document.name for hit in hits] == ["lease.md"]


async def test_a_name_counts_less_the_more_have_it_and_what_is_only_alike_hardly_at_all() -> None:
    notes = {f"note-{number}.md": f"Rosa Lund has key {number}.".encode() for number in range(4)}
    pages = {
        f"herd-{number}.md": f"Zebras of herd {number} graze in the north.".encode() for number in range(3)
    }
    first = b"The cellar is painted. Ask Ada Quist or Rosa Lund."
    async with open_house(graph_enabled=True, graph_similarity=0.5) as house:
        documents = {"cellar.md": first, "ada.md": b"Ada Quist is on leave.", **notes, **pages}
        names = {f"document:{one.id}": one.name for one in await added(house, documents)}
        graph = house.app.graph

        async def widened(query: str, k: int) -> tuple[dict[str, float], dict[str, float]]:
            found = await house.app.recall.find(house.me, query, k, kind="passage")
            wide = await graph.widened(house.me, query, found, kind="passage")
            items = await graph.recall.kinds["passage"].graph.of_items(house.me, [id for id, _ in wide])  # pyright: ignore[reportOptionalMemberAccess] - it has one
            called = {id: names[one.whole[0]] for id, one in items.items() if one.whole}
            return {called[id]: score for id, score in found}, {called[id]: score for id, score in wide}

        found, wide = await widened("painted cellar", 1)
        assert [*found] == ["cellar.md"]
        assert wide["ada.md"] > max(wide[name] for name in notes)
        found, wide = await widened("zebras of herd 1", 1)
        alike = {name: score for name, score in wide.items() if name not in found}
        assert set(alike) == {name for name in pages if name not in found}
        assert max(alike.values()) < 0.4 * found["herd-1.md"]


async def filled(door: Door) -> dict[str, str]:
    documents = await added(door.house, DOCUMENTS)
    pages = b"\f".join(f"Zebras of herd {number} graze near Mount Kenya.".encode() for number in range(4))
    (zebras,) = await added(door.house, {"zebras.txt": pages})
    return {one.name: one.id for one in (*documents, zebras)}


async def test_the_graph_is_shown_with_topics_and_ways() -> None:
    async with open_door(graph_enabled=True, graph_similarity=0.6) as door:
        ids = await filled(door)
        shown = (await door.http.get("/documents/graph")).json()
        nodes = {node["id"]: node for node in shown["nodes"]}
        assert {node["label"] for node in nodes.values() if node["kind"] == "document"} == set(ids)
        assert nodes["name:ines prata"]["label"] == "Ines Prata"
        kinds = {edge["kind"] for edge in shown["edges"]}
        assert kinds == {"alike", "names", "next", "holds"}
        assert all({edge["a"], edge["b"]} <= nodes.keys() for edge in shown["edges"])
        topics = {topic["number"]: topic for topic in shown["topics"]}
        herd = {node["topic"] for node in nodes.values() if node["document"] == ids["zebras.txt"]}
        assert {"zebras", "herd"} & set(topics[herd.pop()]["words"])
        start, end = f"document:{ids['lease.md']}", f"document:{ids['people.md']}"
        path = (await door.http.get("/documents/graph/path", params={"start": start, "end": end})).json()
        assert [node["kind"] for node in path["nodes"]] == [
            *("document", "passage", "name", "passage", "document"),
        ]
        assert path["nodes"][2]["label"] == "Ines Prata"
        none = {"start": start, "end": f"document:{ids['soup.md']}"}
        assert (await door.http.get("/documents/graph/path", params=none)).json() == {"nodes": []}
        lost = {"start": start, "end": "document:nothing"}
        assert (await door.http.get("/documents/graph/path", params=lost)).status_code == 404
        few = (await door.http.get("/documents/graph", params={"limit": 3})).json()
        passages = [node for node in few["nodes"] if node["kind"] == "passage"]
        assert (len(passages), few["left"]) == (3, 6)
        again = (await door.http.get("/documents/graph")).json()
        assert again == shown


async def all_kinds(door: Door) -> dict[str, str]:
    """Documents, facts and pages that hang together; ids of nodes by a word of each."""
    house = door.house
    documents = await added(house, DOCUMENTS)
    first = await house.app.memory.add(house.me, NewFact("Ines Prata was recommended by Ann."))
    then = await house.app.memory.add(
        house.me, NewFact("Ask for the discount of lawyers.", depends_on=(first.fact.id,))
    )
    await house.app.vault.begin(house.me)
    pages = {"ines.md": "# Ines Prata\n\nSee [[office]].\n", "office.md": "# Office\n\nIs cold in winter.\n"}
    for path, text in pages.items():
        await house.app.vault.write(house.me, path, text, by="person")
    await embedded(house)
    ids = {one.name: f"document:{one.id}" for one in documents}
    facts = {"Ann": f"fact:{first.fact.id}", "discount": f"fact:{then.fact.id}"}
    return ids | facts | {path: f"page:{path}" for path in pages}


async def test_facts_and_pages_stand_in_the_graph_beside_documents(tmp_path: Path) -> None:
    async with open_door(graph_enabled=True, data_dir=tmp_path) as door:
        ids = await all_kinds(door)
        shown = (await door.http.get("/documents/graph")).json()
        nodes = {node["id"]: node for node in shown["nodes"]}
        assert set(ids.values()) <= nodes.keys()
        assert nodes[ids["Ann"]]["source"] == ids["Ann"]
        assert nodes["page:ines.md"]["source"] == "vault:ines.md"
        edges = {(edge["a"], edge["b"], edge["kind"]) for edge in shown["edges"]}
        assert (ids["discount"], ids["Ann"], "links") in edges
        assert ("page:ines.md", "page:office.md", "links") in edges
        for holder in (ids["Ann"], "page:ines.md"):
            assert ("name:ines prata", holder, "names") in edges
        start = {"start": ids["lease.md"], "end": ids["discount"]}
        path = (await door.http.get("/documents/graph/path", params=start)).json()["nodes"]
        assert [node["kind"] for node in path] == ["document", "passage", "name", "fact", "fact"]
        of_base = await door.house.app.library.create_collection(door.house.me, "Empty")
        inside = (await door.http.get("/documents/graph", params={"collection": of_base.id})).json()
        assert inside["nodes"] == []


async def test_a_node_is_shown_with_its_text_and_what_is_beside_it(tmp_path: Path) -> None:
    async with open_door(graph_enabled=True, data_dir=tmp_path) as door:
        ids = await all_kinds(door)

        async def beside(node: str) -> tuple[str, set[str]]:
            answer = (await door.http.get("/documents/graph/focus", params={"node": node})).json()
            pairs = [(edge["a"], edge["b"]) for edge in answer["edges"]]
            assert answer["node"]["id"] == node
            return answer["text"], {a if b == node else b for a, b in pairs if node in {a, b}}

        text, others = await beside(ids["Ann"])
        assert text == "Ines Prata was recommended by Ann."
        assert {ids["discount"], "name:ines prata"} <= others
        assert "page:office.md" in (await beside("page:ines.md"))[1]
        assert "page:ines.md" in (await beside("page:office.md"))[1]
        text, others = await beside(ids["lease.md"])
        assert "Harbour Street" in text
        assert len(others) == 1
        _, holders = await beside("name:ines prata")
        assert {ids["Ann"], "page:ines.md"} <= holders
        assert sum(":p" in one for one in holders) == 2
        for node in ("fact:none", "name:nobody at all", "page:../office.md", "document:", "\0"):
            lost = await door.http.get("/documents/graph/focus", params={"node": node})
            assert lost.status_code == 404, node
        found = (await door.http.get("/documents/graph/search", params={"query": "office in winter"})).json()
        assert found["nodes"][0]["id"] == "page:office.md"


async def test_what_is_forgotten_or_no_longer_holds_is_no_node(tmp_path: Path) -> None:
    async with open_door(graph_enabled=True, data_dir=tmp_path) as door:
        house, ids = door.house, await all_kinds(door)
        fact = ids["Ann"].removeprefix("fact:")
        await house.app.forgetting.forget(house.me, [fact])
        told = (await door.http.get("/documents/graph")).text
        assert "recommended" not in told
        assert fact not in told
        lost = await door.http.get("/documents/graph/focus", params={"node": ids["Ann"]})
        assert lost.status_code == 404


async def test_a_graph_that_is_off_says_how_it_is_switched_on() -> None:
    async with open_door() as door:
        answer = await door.http.get("/documents/graph")
    assert answer.status_code == 403
    assert "BETHINK_GRAPH_ENABLED" in answer.json()["detail"]


async def test_an_empty_library_has_an_empty_graph() -> None:
    async with open_house(graph_enabled=True) as house:
        view = await house.app.graph.view(house.me)
    assert (view.nodes, view.edges, view.topics, view.left) == ((), (), (), 0)
    with pytest.raises(UnknownId):
        way(view, "document:a", "document:b")
