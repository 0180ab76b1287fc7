"""How pages hang together: links both ways, links to nothing, pages that stand alone, ways between two."""

from __future__ import annotations

import pytest

from bethink.errors import NoSuchPage
from bethink.vault.markdown.frontmatter import info_of
from bethink.vault.search.catalogue import CataloguePage
from bethink.vault.search.graph import Edge, LinkGraph, Unresolved, graph_of, wanted
from tests.command_line import CommandLine
from tests.sample_vaults import lay_out

PAGES = {
    "user.md": "[[jane]] and [[jane|her]]\n\n[[Jay]] ![[map.png]] [[nobody]] `[[code]]`",
    "entities/jane.md": "---\naliases: [Jay]\n---\n# Jane\n[work](acme.md)",
    "entities/acme.md": "# ACME\n[[user]] [[acme]] [[nobody]] [[lost]]",
    "far.md": "[[further]]",
    "further.md": "",
    "alone.md": "[[#Here]]",
}


def graph() -> LinkGraph:
    return graph_of(
        [CataloguePage(path, "", 0, 0, info_of(path, text)) for path, text in sorted(PAGES.items())]
    )


def test_links_are_known_both_ways_with_their_lines() -> None:
    here = graph()
    assert [(one.path, one.title, one.lines) for one in here.links("user.md")] == [
        ("entities/jane.md", "Jane", (1, 1, 3))
    ]
    assert [one.path for one in here.backlinks("user.md")] == ["entities/acme.md"]
    assert here.orphans() == ["alone.md"]
    assert wanted(here) == [("nobody", 2), ("lost", 1)]
    assert Unresolved("user.md", "nobody", 3) in here.unresolved
    with pytest.raises(NoSuchPage):
        here.links("nobody.md")


def test_what_is_around_a_page_grows_with_the_depth() -> None:
    here = graph()
    assert [node.path for node in here.around("entities/jane.md", 0).nodes] == ["entities/jane.md"]
    near = here.around("far.md")
    assert near.edges == (Edge("far.md", "further.md", 1),)
    assert {node.path for node in here.around("user.md", 2).nodes} == {
        "user.md",
        "entities/jane.md",
        "entities/acme.md",
    }
    assert len(here.net().nodes) == len(PAGES)
    assert Edge("user.md", "entities/jane.md", 3) in here.net().edges


def test_the_shortest_way_leads_along_links_in_either_direction() -> None:
    here = graph()
    assert here.way("user.md", "user.md") == ["user.md"]
    assert here.way("entities/jane.md", "user.md") == ["entities/jane.md", "user.md"]
    assert here.way("user.md", "far.md") is None


def test_the_command_line_shows_the_graph(plain: CommandLine) -> None:
    lay_out(PAGES, plain.data / "vault")
    assert "entities/jane.md" in plain("vault", "links", "user.md").out
    (links,) = plain("vault", "links", "user.md", "--json").documents
    assert [one["path"] for one in links["backlinks"]] == ["entities/acme.md"]
    assert [one["target"] for one in links["unresolved"]] == ["nobody"]
    told = plain("vault", "graph")
    assert "6 pages" in told.out
    assert "alone.md" in told.out
    (net,) = plain("vault", "graph", "far.md", "--json").documents
    assert [node["path"] for node in net["nodes"]] == ["far.md", "further.md"]
    assert plain("vault", "graph", "user.md", "--to", "entities/acme.md").out == "user.md\nentities/acme.md\n"
    assert "There is no path of links" in plain("vault", "graph", "user.md", "--to", "far.md").err
    assert plain("vault", "graph", "nobody.md").code == 2
