"""Calls that wait for their owner, decided in the terminal. `chat` asks here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bethink.agent.approvals import ApprovalChoice
from bethink.cli.terminal import exact
from bethink.errors import BadInput, UnknownId

if TYPE_CHECKING:
    from bethink.agent.records import WaitingCall
    from bethink.cli.session import Session
    from bethink.cli.terminal import Screen

_FINAL_QUESTION = "Run it? [y]es, [n]o, [e]dit the arguments, [l]ater: "
_QUESTION = "Run it? [y]es, [a]lways for this tool, [n]o, [e]dit the arguments, [l]ater: "


def waiting_calls(session: Session, run: str) -> list[WaitingCall]:
    """The calls of a run that nobody has decided about."""
    record = session.call(session.app.runs.stored.get, session.principal, run)
    return [item for item in record.waiting if item.decision is None]


def decide_all(session: Session, screen: Screen, run: str) -> bool:
    """Ask about every waiting call of a run; True when all are decided and the run goes on.

    Where nobody can be asked, or the answer is "later", the calls go on waiting,
    and the person is told how to come back to them.
    """
    for call in waiting_calls(session, run):
        if not screen.can_ask or not _decide(session, screen, run=run, call=call):
            tell_waiting(session, screen, run)
            return False
    return True


def tell_waiting(session: Session, screen: Screen, run: str) -> None:
    """Name the calls that wait, and where to decide about them."""
    record = session.call(session.app.runs.stored.get, session.principal, run)
    for item in waiting_calls(session, run):
        screen.note(f"waiting for your decision: {item.label}. {_plain(item.reason)}", "yellow")
        screen.note(f"  {item.name} {exact(item.arguments)}", "yellow")
    command = f"`bethink chat --conversation {record.conversation}`"
    screen.note(f"Decide with {command} in a terminal, or on the web page.", "yellow")
    screen.note("Until then nothing of it is done; a new message in this conversation rejects it.", "yellow")


def _plain(reason: str) -> str:
    """The reason without the marks of Markdown, which only the page shows."""
    return reason.replace("**", "")


def _decide(session: Session, screen: Screen, *, run: str, call: WaitingCall) -> bool:
    screen.note(f"{call.label}: {_plain(call.reason)}", "bold")
    screen.note(f"  {call.name} {exact(call.arguments)}", "")
    while True:
        try:
            answer = screen.ask(screen.styled(_FINAL_QUESTION, "red") if call.final else _QUESTION)
        except KeyboardInterrupt:
            screen.note("")
            answer = None
        match answer and answer.strip().lower():
            case "y" | "yes":
                return _send(session, run, call=call.call, choice=ApprovalChoice("approve"))
            case "a" | "always" if not call.final:
                return _send(session, run, call=call.call, choice=ApprovalChoice("approve", always=True))
            case "n" | "no":
                return _send(session, run, call=call.call, choice=ApprovalChoice("reject"))
            case "e" | "edit":
                if _edit(session, screen, run=run, call=call):
                    return True
            case None | "l" | "later":
                return False
            case _:
                screen.note("Answer y, n, e or l." if call.final else "Answer y, a, n, e or l.")


def _send(session: Session, run: str, *, call: str, choice: ApprovalChoice) -> bool:
    session.call(session.app.runs.decide, session.principal, run, call=call, choice=choice)
    return True


def _edit(session: Session, screen: Screen, *, run: str, call: WaitingCall) -> bool:
    """Have the arguments changed; False when what was typed cannot be used, which is said."""
    pretty = msgspec.json.format(call.arguments.encode(), indent=2).decode()
    try:
        arguments = msgspec.json.decode(screen.edit(pretty, ".json"), type=dict[str, Any])
        session.call(
            session.app.runs.decide,
            session.principal,
            run,
            call=call.call,
            choice=ApprovalChoice("edit", arguments),
        )
    except msgspec.MsgspecError as error:
        screen.note(f"These are no arguments: {error}. Give one JSON object.", "red")
        return False
    except UnknownId:
        raise
    except BadInput as error:
        screen.note(error.message, "red")
        return False
    return True
