"""What the commands of `bethink vault` find in the pages: a call of the vault, its result as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bethink.cli.exits import Exit
from bethink.cli.session import opened
from bethink.cli.terminal import Screen, counted, one_line
from bethink.cli.vault_facts import tell
from bethink.cli.vault_repairs import repair
from bethink.errors import BadInput
from bethink.vault.search.graph import MAX_DEPTH, wanted
from bethink.vault.search.query import Search

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from bethink.cli.session import Session
    from bethink.vault.checks.check import Finding
    from bethink.vault.search.graph import Graph
    from bethink.vault.search.ranking import FoundPage

_SHOWN = 20
"""Of a list on the screen; JSON has all of it."""


def run(options: argparse.Namespace) -> int:
    """Do what `options.action` names, on the files as they are now."""
    with opened(options) as session:
        screen = Screen.of_process(is_data=options.json)
        session.call(session.app.vault.sync, session.principal.owner)
        return _ACTIONS[options.action](session, screen, options)


def _search(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    asked = Search(
        " ".join(options.query),
        regex=options.regex,
        case=options.case,
        context=options.context,
        page=options.page,
        limit=options.limit,
        filters=options.filter,
    )
    found = session.call(session.app.vault_tools.searching.search, session.principal, asked)
    for page in found.pages:
        if options.json:
            screen.line(msgspec.json.encode(page).decode())
        else:
            _show(screen, page)
    for note in found.notes:
        screen.note(note, "yellow")
    if found.has_more:
        screen.note(f"There are more: --page {found.page + 1} shows them.")
    elif not found.pages:
        screen.note("No page holds this.")
    return Exit.OK


def _show(screen: Screen, page: FoundPage) -> None:
    above = f"  {one_line(' › '.join(page.section))}" if page.section else ""
    screen.line(f"{page.score:.2f}  {one_line(page.path)}  {counted(page.hits, 'hit')}{above}")
    for excerpt in page.excerpts:
        for number, line in enumerate(excerpt.text.split("\n"), excerpt.line):
            screen.line(f"{number:>8}  {line}")


def _links(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    graph = session.call(session.app.vault_tools.graphs.of, session.principal)
    links, back = graph.links(options.path), graph.backlinks(options.path)
    broken = [one for one in graph.unresolved if one.path == options.path]
    if options.json:
        document = {"path": options.path, "links": links, "backlinks": back, "unresolved": broken}
        screen.line(msgspec.json.encode(document).decode())
        return Exit.OK
    for mark, pointers in (("->", links), ("<-", back)):
        for one in pointers:
            screen.line(f"{mark} {one_line(one.path)}  {_lines(one.lines)}")
    for one in broken:
        screen.line(f"?? {one_line(one.target)}  {_lines((one.line,))}")
    if not (links or back or broken):
        screen.note("No link leaves or reaches this page.")
    return Exit.OK


def _graph(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    graph = session.call(session.app.vault_tools.graphs.of, session.principal)
    if not 1 <= options.depth <= MAX_DEPTH:
        message = f"--depth is {options.depth}: give a number from 1 to {MAX_DEPTH}."
        raise BadInput(message)
    if options.to is not None:
        return _way(screen, graph, options)
    net = graph.net() if options.path is None else graph.around(options.path, options.depth)
    if options.json:
        screen.line(msgspec.json.encode(net).decode())
        return Exit.OK
    screen.line(f"{counted(len(net.nodes), 'page')}, {counted(len(net.edges), 'link')} between them")
    for node in sorted(net.nodes, key=lambda node: -node.backlinks)[:_SHOWN]:
        screen.line(f"{node.backlinks:>5} <-  {node.links:>5} ->  {one_line(node.path)}")
    if options.path is None:
        _show_loose(screen, graph)
    return Exit.OK


def _show_loose(screen: Screen, graph: Graph) -> None:
    missing, alone = wanted(graph), graph.orphans()
    if missing:
        screen.line(f"{counted(len(missing), 'name')} that no page has:")
    for name, count in missing[:_SHOWN]:
        screen.line(f"{count:>5} ??  {one_line(name)}")
    if alone:
        screen.line(f"{counted(len(alone), 'page')} that no link leaves or reaches:")
    for path in alone[:_SHOWN]:
        screen.line(f"          {one_line(path)}")


def _way(screen: Screen, graph: Graph, options: argparse.Namespace) -> int:
    if options.path is None:
        raise BadInput("Say where the way begins: `bethink vault graph PATH --to PATH`.")
    way = graph.way(options.path, options.to)
    if options.json:
        screen.line(msgspec.json.encode(way).decode())
    elif way is None:
        screen.note("No links lead from the one to the other.")
    else:
        for path in way:
            screen.line(one_line(path))
    return Exit.OK


def _lines(lines: Sequence[int]) -> str:
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"


def _check(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    checking, me = session.app.vault_tools.checking, session.principal
    report = session.call(checking.check, me.owner)
    names = 0
    for finding in report.findings:
        names += finding.kind == "name"
        if options.json:
            screen.line(msgspec.json.encode(finding).decode())
        elif finding.kind != "name" or names <= _SHOWN:
            screen.line(_found(finding))
    if names > _SHOWN and not options.json:
        screen.line(f"{names - _SHOWN:,} names more: --json has all of them")
    lines = session.call(session.app.mirror.report, me.owner)
    if options.json:
        for problem in lines.problems:
            screen.line(msgspec.json.encode(problem).decode())
    else:
        tell(screen, lines)
    if not (report.findings or lines.problems or lines.trouble):
        screen.note("Nothing is wrong.")
    if options.repair:
        return repair(session, screen, report, is_sure=options.yes)
    if count := sum(bool(finding.choices) for finding in report.findings):
        screen.note(f"{count:,} of these can be mended: --repair shows how, and asks.")
    return Exit.OK


def _found(finding: Finding) -> str:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    is_broken = finding.kind == "broken_link" and finding.near
    near = f"  Perhaps {one_line(', '.join(finding.near))}?" if is_broken else ""
    return f"{one_line(place)}  {one_line(finding.said)}{near}"


_ACTIONS = {"search": _search, "links": _links, "graph": _graph, "check": _check}
