"""`bethink tools`: which there are, what was decided about them, and which were called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import add_json
from bethink.cli.exits import Exit
from bethink.errors import BadInput, UnknownId

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from bethink.agent.audit import LoggedCall
    from bethink.agent.policy import Decision
    from bethink.app import App
    from bethink.cli.commands import Commands
    from bethink.cli.session import Session
    from bethink.cli.terminal import Screen
    from bethink.tool import Tool

_RULES: dict[str, Decision | None] = {"auto": "auto", "ask": "ask", "deny": "deny", "default": None}
_BRIEF = 100


def register(commands: Commands) -> None:
    """`bethink tools` and the commands below it."""
    parser = commands.add("tools", None, "what the agent may do, and what it did")
    below = commands.under(parser)
    listing = below.add("list", _run, "list the tools that there are now")
    listing.set_defaults(act=_list)
    rule = below.add("rule", _run, "decide about a tool for always")
    rule.add_argument("tool", metavar="TOOL", help="its name, as `bethink tools list` shows it")
    rule.add_argument(
        "rule",
        choices=tuple(_RULES),
        help="auto runs it by itself, ask waits for you, deny refuses, default forgets what you decided",
    )
    rule.set_defaults(act=_rule)
    log = below.add("log", _run, "show the calls, the newest first")
    log.add_argument("--tool", metavar="TOOL", help="only calls of this tool")
    log.add_argument("--limit", type=int, default=20, metavar="N", help="at most this many calls (20)")
    log.set_defaults(act=_log)
    for one in (listing, rule, log):
        add_json(one)


def _run(options: argparse.Namespace) -> int:
    from bethink.cli.session import opened
    from bethink.cli.terminal import Screen

    with opened(options) as session:
        return options.act(session, Screen.of_process(is_data=options.json), options)


def _list(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    import msgspec

    tools = session.call(_tools, session.app)
    rules = session.call(session.app.rules.among, session.principal, tools)
    for tool in tools:
        if options.json:
            document = {
                "name": tool.name,
                "effect": tool.effect,
                "trust": tool.trust,
                "source": tool.source,
                "rule": rules.get(tool.name),
                "description": tool.description,
                "parameters": tool.parameters,
            }
            screen.line(msgspec.json.encode(document).decode())
            continue
        notes = [tool.effect, tool.source, f"rule: {rules[tool.name]}" if tool.name in rules else ""]
        screen.line(f"{tool.name}  ({', '.join(note for note in notes if note)})")
        screen.line(f"    {_brief(tool.description)}")
    return Exit.OK


async def _tools(app: App) -> Sequence[Tool]:
    """The tools, asked for on the app's loop: where code runs is chosen when somebody asks."""
    return app.toolbox.all


async def _tool(app: App, name: str) -> Tool | None:
    return app.toolbox.get(name)


def _rule(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    import msgspec

    tool = session.call(_tool, session.app, options.tool)
    rules = session.call(session.app.rules.list, session.principal)
    if tool is None and options.tool not in {rule.id for rule in rules}:
        message = f"There is no tool {options.tool!r}: `bethink tools list` shows them."
        raise UnknownId(message)
    name = tool.name if tool else options.tool
    origin = tool.origin if tool else ""
    session.call(session.app.rules.set, session.principal, name, _RULES[options.rule], origin=origin)
    if options.json:
        screen.line(msgspec.json.encode({"tool": name, "rule": _RULES[options.rule]}).decode())
        return Exit.OK
    screen.line(f"{name}: {options.rule}")
    if tool is not None and tool.effect == "destructive" and options.rule == "auto":
        screen.note("What cannot be undone asks each time all the same.", "yellow")
    return Exit.OK


def _log(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    import msgspec

    if options.limit < 1:
        message = f"--limit is {options.limit}: give a number from 1."
        raise BadInput(message)
    page = session.call(session.app.audit.calls, session.principal, tool=options.tool, limit=options.limit)
    uses = [item.record for item in page.items]
    for called in session.call(session.app.audit.with_arguments, session.principal, uses):
        if options.json:
            document = msgspec.to_builtins(called.use) | {
                "at": _moment(called),
                "arguments": called.arguments,
            }
            screen.line(msgspec.json.encode(document).decode())
        else:
            _show(screen, called)
    if not uses and not options.json:
        screen.note("No tool was called yet.")
    return Exit.OK


def _show(screen: Screen, called: LoggedCall) -> None:
    use = called.use
    outcome = use.error or "ok"
    kinds = ", ".join(f"{count} {kind}" for kind, count in use.redacted.items())
    masked = f", masked {kinds}" if kinds else ""
    screen.line(f"{_moment(called)}  {use.tool}  {outcome}, {use.duration_ms:,.0f} ms, by {use.by}{masked}")
    arguments = "(its message is gone)" if called.arguments is None else called.arguments
    screen.line(f"    {_brief(arguments)}")


def _moment(called: LoggedCall) -> str:
    from bethink.clock import to_datetime

    return f"{to_datetime(called.use.at):%Y-%m-%dT%H:%M:%SZ}"


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _BRIEF else f"{line[: _BRIEF - 1]}…"
