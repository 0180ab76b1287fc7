"""`bethink vault`: search, edit and manage the vault of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg, one_of, repeated
from bethink.cli.exits import Exit
from bethink.cli.terminal import Screen, counted, document_of, one_line, read_stdin
from bethink.errors import BadInput, BethinkError, NoSuchPage

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.mirror import MirrorReport
    from bethink.vault import Change, ListedFile
    from bethink.vault.checks.check import CheckReport, Defect
    from bethink.vault.checks.repair import RepairOption
    from bethink.vault.filters.rules import FilterRule
    from bethink.vault.search.graph import LinkGraph
    from bethink.vault.search.ranking import SearchResult

_FILTER_PARTS = ("path", "section", "field", "pattern", "text")
_SHOWN = 20
"""Of a list on the screen; JSON has all of it."""
_WHO = {
    "person": "you",
    "agent": "the agent",
    "outside": "another program",
    "import": "an import",
    "mirror": "a memory",
}
_PAUSED = (
    "No line is written until you decide: `bethink vault facts --restore` writes the vanished ones again,"
    " `--retract` also retracts their memories (this can be undone)."
)


COMMANDS = Commands(before=lambda session: session.call(session.app.vault.sync, session.owner))
"""What a command sees is what is in the files now."""
_PATH = arg("path PATH", "of the page in the vault, such as entities/jane_doe.md")


# --- pages ------------------------------------------------------------------


@COMMANDS.add("init")
def _init(session: Session, _: Namespace) -> None:
    """Make the vault, with its first page, or have the folder that is there be the vault's from now on."""
    vault = session.app.vault
    made = session.mine(vault.begin, takes_any=True)
    root, synced = str(vault.root(session.owner)), session.call(vault.sync, session.owner)
    already = "" if made else f" already, with {counted(synced.pages, 'page')}"
    document = {"path": root, "made": made, "pages": synced.pages}
    session.screen.result(document, f"The vault is at {root}{already}")


@COMMANDS.add(
    "list",
    arg("folder FOLDER?", "the whole vault by default", default=""),
    arg("--deep", "with all that is in its folders"),
)
def _list(session: Session, options: Namespace) -> None:
    """List the pages of a folder."""
    vault, owner, screen = session.app.vault, session.owner, session.screen
    entries = session.call(vault.listed, owner, options.folder, deep=options.deep)
    for entry in entries:
        screen.result(entry, _entry_line(session, entry))
    if fault := session.call(vault.folder_fault, owner):
        screen.note(fault)
    elif not entries:
        screen.note("There are no pages here yet: `bethink vault init` makes the first one.")


def _entry_line(session: Session, entry: ListedFile) -> str:
    if entry.is_folder:
        return f"{'':>16}  {'':>9}  {one_line(entry.path)}/"
    told = f"  ({entry.trouble})" if entry.trouble else ""
    when = session.local(entry.changed) if entry.changed else ""
    return f"{when:>16}  {entry.size:>9,}  {one_line(entry.path)}{told}"


@COMMANDS.add("show", _PATH, arg("--version ID", "as one of its changes left it"))
def _show(session: Session, options: Namespace) -> None:
    """Show a page, exactly."""
    vault, owner = session.app.vault, session.owner
    if options.version is None:
        page = session.call(vault.read, owner, options.path)
    else:
        page = session.call(vault.version, owner, options.path, options.version)
    session.screen.result(page)
    if not options.json:
        session.screen.text(page.text)


@COMMANDS.add("history", _PATH)
def _history(session: Session, options: Namespace) -> None:
    """Show what was changed in a page, when, by whom and why."""
    for version in session.call(session.app.vault.history, session.owner, options.path):
        what = f"moved from {version.was}" if version.was else version.what
        note = f"  {one_line(version.note)}" if version.note else ""
        line = f"{version.id}  {session.local(version.at)}  {what} by {_WHO[version.by]}{note}"
        session.screen.result(version, line)


@COMMANDS.add(
    "diff",
    _PATH,
    arg("version ID?", "the last change by default"),
    arg("--against ID", "everything from it to this later change"),
)
def _diff(session: Session, options: Namespace) -> None:
    """Show what a change did, as lines that went and came."""
    vault, owner = session.app.vault, session.owner
    id = options.version or session.call(vault.history, owner, options.path)[0].id
    diff = session.call(vault.versions.diff, owner, options.path, id, against=options.against)
    session.screen.result({"path": options.path, "version": id, "diff": diff})
    if not options.json:
        session.screen.text(diff)


@COMMANDS.add(
    "edit",
    _PATH,
    arg("--stdin", "read the page from standard input"),
    arg("--note TEXT", "reason, for the history", default=""),
)
def _edit(session: Session, options: Namespace) -> None:
    """Change a page in your editor, or from a pipe."""
    vault, screen = session.app.vault, session.screen
    try:
        page = session.call(vault.read, session.owner, options.path)
    except NoSuchPage:
        page = None
    if options.stdin:
        text = read_stdin("utf-8")  # a mark at its beginning is the page's own
    elif screen.can_ask and screen.editor:
        text = screen.edit("" if page is None else page.text, ".md")
    else:
        raise BadInput("Set EDITOR to edit a page, or pipe it in with --stdin.")
    version = "" if page is None else page.version
    change = session.mine(vault.write, options.path, text, if_version=version, by="person", note=options.note)
    _show_change(screen, change)


@COMMANDS.add("move", _PATH, arg("to TO", "its new path"), arg("--links", "update the links to it"))
def _move(session: Session, options: Namespace) -> None:
    """Give a page another path; it keeps its history."""
    if options.links:
        mover = session.app.vault_tools.moving
        moved, followed = session.mine(mover.move, options.path, options.to, by="person")
        for change in followed:
            _show_change(session.screen, change)
    else:
        moved = session.mine(session.app.vault.move, options.path, options.to, by="person")
    _show_change(session.screen, moved)


@COMMANDS.add("delete", _PATH)
def _delete(session: Session, options: Namespace) -> None:
    """Delete a page; this can be undone."""
    _show_change(session.screen, session.mine(session.app.vault.delete, options.path, by="person"))


@COMMANDS.add("restore", _PATH, arg("version ID", "the change, as `history` prints it"))
def _restore(session: Session, options: Namespace) -> None:
    """Have a page say again what it said after a change."""
    _show_change(session.screen, session.mine(session.app.vault.restore, options.path, options.version))


@COMMANDS.add("undo", arg("token TOKEN+", "the tokens that were printed with a change, in their order"))
def _undo(session: Session, options: Namespace) -> None:
    """Take back changes."""
    for token in options.token:
        _show_change(session.screen, session.mine(session.app.vault.undo, token))


def _show_change(screen: Screen, change: Change) -> None:
    is_same = change.before == change.after and change.moved_from is None
    if is_same:
        told = f"Nothing changed: {change.path}"
    elif change.moved_from is not None:
        told = f"Moved: {change.moved_from} is {change.path} now"
    elif change.after is None:
        told = f"Deleted: {change.path}"
    else:
        told = f"{'Written' if change.before else 'Created'}: {change.path}"
    screen.result(change, told)
    if change.undo is not None and not is_same:
        screen.remark(f"undo: bethink vault undo {change.undo}")


@COMMANDS.add("vouch", _PATH)
def _vouch(session: Session, options: Namespace) -> None:
    """Say that a page is your own words, whoever wrote them."""
    change = session.mine(session.app.vault.vouch, options.path)
    document = {"path": change.path, "vouched": change.undo is not None}
    session.screen.result(document, f"{change.path} counts as your own words.")


@COMMANDS.add_alone("sync", arg("--rebuild", "rebuild all indexes"), json="each result")
def _sync(options: Namespace) -> int:
    """Take in what changed in the files."""
    from bethink.cli.session import opened

    with opened(options) as session:
        vault, owner, screen = session.app.vault, session.owner, session.screen
        synced = session.call(vault.sync, owner, rebuild=options.rebuild)
        session.app.background.ask_vectors(owner)
        changes = f"{synced.taken:,} read again, {synced.moved:,} moved, {synced.lost:,} removed"
        screen.result(synced, f"{counted(synced.pages, 'page')}: {changes}")
        for path, why in session.call(vault.state, owner).troubles:
            screen.remark(f"not read: {one_line(path)}: {why}", "yellow")
    return Exit.OK


# --- asking and finding -----------------------------------------------------


@COMMANDS.add_alone(
    "ask",
    arg("question QUESTION+", "`-` stands for standard input"),
    repeated("--filter TEXT", "what it must not reveal; may be repeated"),
    arg("-v --verbose", "show what it considers and reads"),
    json="each event",
)
def _ask(options: Namespace) -> int:
    """Ask the agent that keeps the vault, or have it note something."""
    from bethink.cli.render import RunOutcome, renderer_of
    from bethink.cli.session import opened

    question = " ".join(read_stdin() if word == "-" else word for word in options.question)
    outcome = RunOutcome()
    with opened(options) as session:
        renderer = renderer_of(session.screen, is_verbose=options.verbose)
        ask = partial(session.app.asking.follow, session.principal, question, options.filter)
        for batch in session.streamed(ask):
            for numbered in batch:
                outcome.take(numbered)
                renderer.show(numbered)
    return Exit.FAILED if outcome.reason == "awaiting_approval" else outcome.exit


@COMMANDS.add(
    "search",
    arg("query QUERY*", 'words; "a phrase" in quotes'),
    arg("--regex", "the query is a regular expression"),
    arg("--case", "capitals matter"),
    repeated(
        "--filter FILTER",
        "entities/*, section:Health or tag:work; --filter=-tag:work for all others; may be repeated",
    ),
    arg("--context N", "lines around each hit (2)", type=int, default=2),
    arg("--page N", "further results (1)", type=int, default=1),
    arg("--limit N", "at most this many pages (20)", type=int, default=20),
)
def _search(session: Session, options: Namespace) -> None:
    """Find pages by words, phrases or a pattern, the best first."""
    from bethink.vault.search.query import PageSearch

    asked = PageSearch(
        " ".join(options.query),
        regex=options.regex,
        case=options.case,
        context=options.context,
        page=options.page,
        limit=options.limit,
        filters=options.filter,
    )
    found = session.mine(session.app.vault_tools.searching.search, asked)
    for page in found.pages:
        session.screen.result(page, *_found_lines(page))
    for note in found.notes:
        session.screen.note(note, "yellow")
    if found.has_more:
        session.screen.note(f"There are more: --page {found.page + 1} shows them.")
    elif not found.pages:
        session.screen.note("No page contains this.")


def _found_lines(page: SearchResult) -> list[str]:
    above = f"  {one_line(' › '.join(page.section))}" if page.section else ""
    return [
        f"{page.score:.2f}  {one_line(page.path)}  {counted(page.hits, 'hit')}{above}",
        *(
            f"{number:>8}  {line}"
            for excerpt in page.excerpts
            for number, line in enumerate(excerpt.text.split("\n"), excerpt.line)
        ),
    ]


@COMMANDS.add("links", _PATH)
def _links(session: Session, options: Namespace) -> None:
    """Show what a page links to, what links to it, and links to nothing."""
    graph = session.mine(session.app.vault_tools.graphs.of)
    links, back = graph.links(options.path), graph.backlinks(options.path)
    broken = [one for one in graph.unresolved if one.path == options.path]
    pointers = [("->", one) for one in links] + [("<-", one) for one in back]
    session.screen.result(
        {"path": options.path, "links": links, "backlinks": back, "unresolved": broken},
        *(f"{mark} {one_line(one.path)}  {_lines(one.lines)}" for mark, one in pointers),
        *(f"?? {one_line(one.target)}  {_lines((one.line,))}" for one in broken),
    )
    if not (pointers or broken):
        session.screen.remark("No link leaves or reaches this page.")


def _lines(lines: Sequence[int]) -> str:
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"


@COMMANDS.add(
    "graph",
    arg("path PATH?", "only pages around this one"),
    arg("--depth N", "at most this many links away (1)", type=int, default=1),
    arg("--to PATH", "the shortest path from PATH to this page"),
)
def _graph(session: Session, options: Namespace) -> None:
    """Show how the pages hang together."""
    from bethink.vault.search.graph import MAX_DEPTH

    graph = session.mine(session.app.vault_tools.graphs.of)
    if not 1 <= options.depth <= MAX_DEPTH:
        raise BadInput(f"--depth is {options.depth}: give a number from 1 to {MAX_DEPTH}.")
    if options.to is not None:
        if options.path is None:
            raise BadInput("Give the page where the path begins: `bethink vault graph PATH --to PATH`.")
        way = graph.way(options.path, options.to)
        session.screen.result(way, *map(one_line, way or ()))
        if way is None:
            session.screen.remark("There is no path of links between them.")
        return
    net = graph.net() if options.path is None else graph.around(options.path, options.depth)
    nodes = sorted(net.nodes, key=lambda node: -node.backlinks)[:_SHOWN]
    session.screen.result(
        net,
        f"{counted(len(net.nodes), 'page')}, {counted(len(net.edges), 'link')} between them",
        *(f"{node.backlinks:>5} <-  {node.links:>5} ->  {one_line(node.path)}" for node in nodes),
        *(_loose_lines(graph) if options.path is None else ()),
    )


def _loose_lines(graph: LinkGraph) -> list[str]:
    from bethink.vault.search.graph import wanted

    missing, alone = wanted(graph), graph.orphans()
    return [
        *([f"{counted(len(missing), 'name')} that no page has:"] if missing else ()),
        *(f"{count:>5} ??  {one_line(name)}" for name, count in missing[:_SHOWN]),
        *([f"{counted(len(alone), 'page')} that no link leaves or reaches:"] if alone else ()),
        *(f"          {one_line(path)}" for path in alone[:_SHOWN]),
    ]


# --- lines of facts, and repairs --------------------------------------------


@COMMANDS.add(
    "facts",
    one_of(
        arg(
            "--restore",
            "write vanished lines again",
            dest="answer",
            action="store_const",
            const="restore",
        ),
        arg(
            "--retract",
            "retract the memories of vanished lines",
            dest="answer",
            action="store_const",
            const="retract",
        ),
    ),
    arg("--whole", "read everything, not only what changed"),
    json="the report",
)
def _compare_facts(session: Session, options: Namespace) -> None:
    """Compare memories with their lines in pages, and tell what needs you."""
    mirror, owner = session.app.mirror, session.owner
    session.call(mirror.settle, owner, whole=options.whole)
    if options.answer is not None:
        count = session.call(mirror.decide, owner, options.answer)
        done = "written again" if options.answer == "restore" else "let go"
        session.screen.note(f"{count:,} vanished lines: {done}")
    report = session.call(mirror.report, owner)
    where = "is a line of a page" if report.lines == 1 else "are lines of pages"
    session.screen.result(report, f"{counted(report.lines, 'memory')} {where}")
    if not options.json:
        _show_problems(session.screen, report)


def _show_problems(screen: Screen, report: MirrorReport) -> None:
    for problem in report.problems:
        screen.line(f"{one_line(problem.path)}  {problem.line or 'no memory'}  {one_line(problem.why)}")
    if report.is_paused:
        screen.note(_PAUSED)
    if report.trouble:
        screen.note(f"Some memories have no line: {one_line(report.trouble)}")


@COMMANDS.add(
    "check",
    arg("--repair", "offer repairs, show them, and make those that you confirm"),
    arg("-y --yes", "with --repair: make those that leave no choice, and do not ask"),
)
def _check(session: Session, options: Namespace) -> Exit | None:
    """Find broken links, twins, odd names and files that cannot be read, and offer repairs."""
    screen = session.screen
    report = session.call(session.app.vault_tools.checking.check, session.owner)
    names = [finding for finding in report.findings if finding.kind == "name"]
    few = names[:_SHOWN]
    for finding in report.findings:
        if options.json or finding.kind != "name" or finding in few:
            screen.result(finding, _finding_line(finding))
    if len(names) > _SHOWN and not options.json:
        screen.line(f"{len(names) - _SHOWN:,} names more: --json has all of them")
    lines = session.call(session.app.mirror.report, session.owner)
    if options.json:
        for problem in lines.problems:
            screen.result(problem)
    else:
        _show_problems(screen, lines)
    if not (report.findings or lines.problems or lines.trouble):
        screen.note("No problems found.")
    if options.repair:
        return _repair(session, report, is_sure=options.yes)
    if count := sum(bool(finding.choices) for finding in report.findings):
        screen.note(f"{count:,} of these can be repaired: --repair shows how, and asks.")
    return None


def _finding_line(finding: Defect) -> str:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    is_broken = finding.kind == "broken_link" and finding.near
    near = f"  Perhaps {one_line(', '.join(finding.near))}?" if is_broken else ""
    return f"{one_line(place)}  {one_line(finding.said)}{near}"


def _repair(session: Session, report: CheckReport, *, is_sure: bool) -> Exit | None:
    """Mend what the person chooses, or with `is_sure` what leaves no choice; what cannot be is said."""
    screen = session.screen
    if not is_sure and not screen.can_ask and report.choices:
        raise BadInput("There is no terminal to ask: --yes makes the repairs without alternatives.")
    is_whole, left = True, 0
    for finding in report.findings:
        if not finding.choices:
            continue
        choice = finding.choices[0] if is_sure else _chosen(screen, finding)
        if is_sure and not finding.choices[0].is_sure:
            left += 1
        elif choice is not None:
            is_whole &= _mend(session, choice, is_sure=is_sure)
    if left:
        screen.note(f"{left:,} more have alternatives: --repair without --yes asks.")
    return None if is_whole else Exit.FAILED


def _chosen(screen: Screen, finding: Defect) -> RepairOption | None:
    """What the person would have done, if anything."""
    screen.line(f"{one_line(finding.path)}  {one_line(finding.said)}")
    for number, choice in enumerate(finding.choices, 1):
        screen.line(f"  {number}  {one_line(choice.said)}")
    answer = (screen.ask(f"Which? [1-{len(finding.choices)}; Enter skips it] ") or "").strip()
    if not answer.isdecimal() or not 0 < int(answer) <= len(finding.choices):
        return None
    return finding.choices[int(answer) - 1]


def _mend(session: Session, choice: RepairOption, *, is_sure: bool) -> bool:
    """Show what a choice would do, and do it if the person agrees; whether nothing stood in the way."""
    mending, screen = session.app.vault_tools.checking.mending, session.screen
    try:
        plan = session.call(mending.plan, session.owner, choice)
        for step in () if screen.is_data else plan.shown:
            screen.line(one_line(step.said))
            screen.text(step.diff)
            screen.end_line()
        if not is_sure and not screen.agrees("Make this change? [y/N] "):
            return True
        made = session.mine(mending.make, choice, plan.id)
    except BethinkError as error:
        screen.note(f"{one_line(choice.path)}: {error.message}", "yellow")
        return False
    document = {"choice": choice, "changes": made.changes, "undo": made.undo}
    screen.result(document, f"Mended: {one_line(choice.path)}")
    screen.remark(f"undo: bethink vault undo {' '.join(made.undo)}")
    return True


# --- filters ----------------------------------------------------------------


_FILTERS = Commands()
"""They work if the vault is switched off, too."""
_FILTERS.group("filters", "hide parts of the vault from its readers")


@_FILTERS.add(
    "filters add",
    arg("--path GLOB", "a page or a folder: private, entities/*.md", default=""),
    arg("--section TITLE", "a section, with all below its heading", default=""),
    arg("--field NAME", "a fact, front matter key or table column", default=""),
    arg("--pattern WHAT", "email, phone, card, birth_date, number or a regular expression", default=""),
    arg("--text WORDS", "words for the model alone: no protection", default=""),
    arg("--action hide|mask|generalise", "hide (the default), mask or generalise", default="hide"),
    repeated(
        "--from AUDIENCE",
        "mcp-http:claude, openai, web/agent …; may be repeated; everybody but you by default",
        dest="audiences",
    ),
    arg("--note WORDS", "why, for yourself", default=""),
)
def _add_filter(session: Session, options: Namespace) -> None:
    """Hide something; what is not named does not narrow it."""
    from bethink.vault.filters.rules import FilterRule

    given = {name: getattr(options, name) for name in (*_FILTER_PARTS, "action", "note")}
    asked = FilterRule(**given, audiences=tuple(options.audiences))
    rule = session.mine(session.app.visibility.filters.add, asked)
    _follow_filters(session)
    _show_filter(session, rule)
    if rule.text:
        warning = "This is an instruction to the model, which may ignore it: it hides nothing."
        session.screen.remark(warning, "yellow")


@_FILTERS.add("filters list")
def _list_filters(session: Session, _: Namespace) -> None:
    """List the filters, in their order."""
    rules = session.mine(session.app.visibility.filters.list)
    for rule in rules:
        _show_filter(session, rule)
    if not rules:
        session.screen.remark("No filters. Nothing is hidden.")


@_FILTERS.add("filters remove", arg("id ID", "the filter's id, as `list` shows it"))
def _remove_filter(session: Session, options: Namespace) -> None:
    """Remove a filter."""
    rule = session.mine(session.app.visibility.filters.remove, options.id)
    _follow_filters(session)
    _show_filter(session, rule)


@_FILTERS.add("filters reset")
def _reset_filters(session: Session, _: Namespace) -> None:
    """Remove all filters."""
    count = session.mine(session.app.visibility.filters.reset)
    _follow_filters(session)
    told = f"Removed {count} filter{'' if count == 1 else 's'}: nothing is hidden."
    session.screen.result({"removed": count}, told)


@_FILTERS.add(
    "filters test",
    arg("path PATH", "of the page in the vault, such as entities/jane_doe.md"),
    arg("--as AUDIENCE", "such as web/agent", dest="audience", required=True),
)
def _test_filters(session: Session, options: Namespace) -> None:
    """Show a page as an audience sees it."""
    screen = session.screen
    reader = replace(session.principal, audience=options.audience)
    seen = session.call(session.app.visibility.views.tried, reader, options.path)
    if options.json:
        screen.result({"hidden": seen.is_hidden, "text": seen.text, "marks": seen.marks})
        return
    if seen.is_hidden:
        screen.note(f"{options.audience} does not see that this page is there.", "yellow")
        return
    screen.line(seen.text.removesuffix("\n"))
    for mark in seen.marks:
        line = seen.raw.count("\n", 0, mark.start) + 1
        why = f"by {mark.rule}" if mark.rule else "a link to a hidden page"
        screen.note(f"line {line}: {mark.action} {seen.raw[mark.start : mark.end]!r}, {why}")


def _follow_filters(session: Session) -> None:
    """Have what is searched follow the filters before the command ends: no other process may be there to."""
    session.call(session.app.vault.sync, session.owner)
    session.call(session.app.visibility.indexing.catch_up, session.owner)


def _show_filter(session: Session, rule: FilterRule) -> None:
    what = ", ".join(f"{name} {value!r}" for name in _FILTER_PARTS if (value := getattr(rule, name)))
    action = "tell the model" if rule.text else rule.action
    whom = ", ".join(rule.audiences) or "everybody but you"
    note = f"  ({rule.note})" if rule.note else ""
    document = document_of(rule) | {"audiences": list(rule.audiences), "action": rule.action}
    session.screen.result(document, f"{rule.id}  {action}: {what}  from {whom}{note}")


COMMANDS.table += _FILTERS.table
