"""`bethink tools`: list tools, set their rules and list their calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg, at_most
from bethink.cli.terminal import document_of, one_line
from bethink.clock import to_datetime
from bethink.errors import UnknownId

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.agent.policy import Decision
    from bethink.cli.session import Session
    from bethink.tool import Tool

_RULES: dict[str, Decision | None] = {"auto": "auto", "ask": "ask", "deny": "deny", "default": None}
_BRIEF = 100
COMMANDS = Commands()


@COMMANDS.add("list")
def _list(session: Session, _: Namespace) -> None:
    """List the tools that there are now."""

    async def on_its_loop() -> Sequence[Tool]:
        return session.app.toolbox.all  # where code runs is chosen when somebody asks

    tools = session.call(on_its_loop)
    rules = session.mine(session.app.rules.among, tools)
    for tool in tools:
        document = {
            "name": tool.name,
            "effect": tool.effect,
            "trust": tool.trust,
            "source": tool.source,
            "rule": rules.get(tool.name),
            "description": tool.description,
            "parameters": tool.parameters,
        }
        notes = [tool.effect, tool.source, f"rule: {rules[tool.name]}" if tool.name in rules else ""]
        session.screen.result(
            document,
            f"{tool.name}  ({', '.join(filter(None, notes))})",
            f"    {one_line(tool.description, _BRIEF)}",
        )


@COMMANDS.add(
    "rule",
    arg("tool TOOL", "its name, as `bethink tools list` shows it"),
    arg(
        "rule auto|ask|deny|default",
        "auto runs it without asking, ask asks each time, deny refuses, default removes your rule",
    ),
)
def _rule(session: Session, options: Namespace) -> None:
    """Decide about a tool for always."""

    async def on_its_loop() -> Tool | None:
        return session.app.toolbox.get(options.tool)

    tool = session.call(on_its_loop)
    if tool is None and options.tool not in {rule.id for rule in session.mine(session.app.rules.list)}:
        raise UnknownId(f"There is no tool {options.tool!r}: `bethink tools list` shows them.")
    name, origin = (tool.name, tool.origin) if tool else (options.tool, "")
    decision = _RULES[options.rule]
    session.mine(session.app.rules.set, name, decision, origin=origin)
    session.screen.result({"tool": name, "rule": decision}, f"{name}: {options.rule}")
    if tool is not None and tool.effect == "destructive" and decision == "auto":
        session.screen.remark("A tool that cannot be undone still asks each time.", "yellow")


@COMMANDS.add("log", arg("--tool TOOL", "only calls of this tool"), at_most(20, "calls"))
def _log(session: Session, options: Namespace) -> None:
    """Show the calls, the newest first."""
    page = session.mine(session.app.audit.calls, tool=options.tool, limit=options.limit)
    uses = [item.record for item in page.items]
    for called in session.mine(session.app.audit.with_arguments, uses):
        use, at = called.use, f"{to_datetime(called.use.at):%Y-%m-%dT%H:%M:%SZ}"
        kinds = ", ".join(f"{count} {kind}" for kind, count in use.redacted.items())
        masked = f", masked {kinds}" if kinds else ""
        outcome = f"{use.error or 'ok'}, {use.duration_ms:,.0f} ms, by {use.by}{masked}"
        arguments = "(its message was deleted)" if called.arguments is None else called.arguments
        session.screen.result(
            document_of(use) | {"at": at, "arguments": called.arguments},
            f"{at}  {use.tool}  {outcome}",
            f"    {one_line(arguments, _BRIEF)}",
        )
    if not uses:
        session.screen.remark("No tool calls yet.")
