"""Questions of running calls in the terminal: each field of a form, a page's address, leave to use the model.

`talk` asks them. Where nobody can be asked, a question is cancelled at once.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bethink.cli.terminal import one_line
from bethink.errors import BadInput, UnknownId
from bethink.questions import GivenAnswer, checked

if TYPE_CHECKING:
    from bethink.cli.session import Session
    from bethink.events import QuestionAsked
    from bethink.questions import Action, QuestionField

_WORDS: dict[str, Action] = {"y": "accept", "yes": "accept", "n": "decline", "no": "decline"}
_YES = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


def answer_question(session: Session, run: str, asked: QuestionAsked) -> None:
    """Have a question answered; one that nobody waits for any more is passed over."""
    action, values = _answered(session, asked) if session.screen.can_ask else ("cancel", {})
    # In the meantime it may have been answered elsewhere, or have waited too long.
    with suppress(UnknownId):
        session.mine(session.app.runs.answer_question, run, GivenAnswer(asked.question, action, values))


def _answered(session: Session, asked: QuestionAsked) -> tuple[Action, dict[str, Any]]:
    asks = {
        "form": "Answer it? Never give a password here. [y]es, [n]o, [l]ater: ",
        "url": "Open it yourself if you trust it. Say when you are done: [y]es, [n]o, [l]ater: ",
        "model": "May it use your model? [y]es, [n]o, [l]ater: ",
    }
    while True:
        word = (session.screen.ask(asks[asked.mode]) or "later").strip().lower()
        if word in {"l", "later"}:
            return "cancel", {}
        if (action := _WORDS.get(word)) is not None:
            break
        session.screen.note("Answer y, n or l.")
    if action == "decline" or asked.mode != "form":
        return action, {}
    values: dict[str, Any] = {}
    for one in asked.fields:
        if not _filled(session, one, values):
            return "cancel", {}
    return "accept", values


def _filled(session: Session, one: QuestionField, values: dict[str, Any]) -> bool:
    """Have one field filled; False if the person breaks off."""
    about = ", ".join(filter(None, (one_line(one.description, 200), one.format, _choices(one))))
    default = "" if one.default is None else f" [{one.default}]"
    needed = "" if one.required else " (may be empty)"
    if about:
        session.screen.note(f"  {about}")
    while True:
        typed = session.screen.ask(f"  {one_line(one.title or one.name)}{needed}{default}: ")
        if typed is None:
            return False
        try:
            given = {one.name: one.default if not typed.strip() else _read(one, typed.strip())}
            values |= checked([one], given)
        except BadInput as error:
            session.screen.note(f"  {error.message}", "red")
        else:
            return True


def _choices(one: QuestionField) -> str:
    named = [f"{choice.value} ({choice.title})" if choice.title != choice.value else choice.value
             for choice in one.choices]  # fmt: skip
    shown = one_line(", ".join(named), 500)
    return f"some of: {shown}" if one.kind == "choices" else f"one of: {shown}" if named else ""


def _read(one: QuestionField, typed: str) -> Any:  # noqa: ANN401 - a value of the field
    match one.kind:
        case "boolean":
            return _YES.get(typed.lower(), typed)
        case "integer" | "number":
            with suppress(ValueError):
                return int(typed) if one.kind == "integer" else float(typed)
            return typed
        case "choices":
            return [part.strip() for part in typed.split(",") if part.strip()]
        case "text" | "choice":
            return typed
