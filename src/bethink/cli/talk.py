"""A conversation in the terminal, with the approvals it needs. `chat` opens it."""

from __future__ import annotations

import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.agent.request import RunOptions
from bethink.agent.start import SLASH_COMMANDS
from bethink.agent.stored_runs import ApprovalChoice
from bethink.cli.checks import model_of_server
from bethink.cli.conversations import conversation_of
from bethink.cli.exits import Exit
from bethink.cli.render import STOPPED, Renderer, RunOutcome, memory_updated
from bethink.cli.terminal import exact, one_line, use_completion, use_history
from bethink.conversations.records import ChangedRef, Conversation, StoredMessage, checked_content
from bethink.errors import BadInput, BethinkError, UnknownId
from bethink.events import MemoryChanged, Place, QuestionAsked
from bethink.messages import UserMessage
from bethink.questions import Action, GivenAnswer, QuestionField, checked

if TYPE_CHECKING:
    from bethink.agent.records import NumberedEvent, WaitingCall
    from bethink.cli.session import Session

_HISTORY_CONVERSATIONS = 10
_HISTORY_MESSAGES = 50
_SHOWN_CHARS = 300
_CHOICES = {
    "y": ApprovalChoice("approve"),
    "yes": ApprovalChoice("approve"),
    "a": ApprovalChoice("approve", always=True),
    "always": ApprovalChoice("approve", always=True),
    "n": ApprovalChoice("reject"),
    "no": ApprovalChoice("reject"),
}
_FINAL_QUESTION = "Run it? [y]es, [n]o, [e]dit the arguments, [l]ater: "
_QUESTION = "Run it? [y]es, [a]lways for this tool, [n]o, [e]dit the arguments, [l]ater: "


def find_conversation(session: Session, *, id: str | None, last: bool) -> str | None:
    """The conversation to go on in; None for a new one.

    Raises:
        UnknownId: there is none.
    """
    conversations = session.app.conversations
    if id is not None:
        return conversation_of(session, id).id
    if not last:
        return None
    page = session.mine(conversations.list, limit=1)
    if not page.items:
        raise UnknownId("There is no conversation to continue yet: start one with `bethink chat`.")
    return page.items[0].record.id


@dataclass(slots=True)
class TerminalTalk:
    """One conversation in the terminal. `conversation` is None until something is said in a new one."""

    session: Session
    conversation: str | None
    renderer: Renderer
    model: str | None = None
    """What `/model` chose; None is the conversation's own, or the settings'."""
    _told: set[tuple[str, ...]] | None = None
    """The changes of memory that the last answer told; None if there was none."""

    def turn(self, said: str) -> Exit:
        """Say something and show the answer; how it ended.

        Raises:
            BadInput: the message is empty or too long.
            Busy: another process answers in this conversation.
        """
        app = self.session.app
        checked_content(said, app.settings.max_message_chars)
        if self.conversation is None:
            self.conversation = self.session.mine(app.conversations.create).id
        options = RunOptions(model=self.model)
        code = self._watch(self.session.mine(app.runs.start, self.conversation, said, options=options))
        if code is Exit.NO_MODEL and (hint := model_of_server(app.settings.data_dir)):
            self.session.screen.note(hint)
        return code

    def go_on(self) -> Exit:
        """Take up what the conversation was left with: tell it, follow it, or ask about it."""
        self.tell_where_it_stopped()
        if self.conversation is None:
            return Exit.OK
        held = self.session.mine(self.session.app.conversations.get, self.conversation)
        if (active := held.record.active_run) is None:
            return Exit.OK
        if not _waiting_calls(self.session, active):
            self.session.screen.note(
                "This conversation is being answered by another program; here is its answer."
            )
            return self._watch(active)
        told = self.session.mine(self.session.app.runs.stored.events, active, Place(0))
        if not _decide_all(self.session, active):
            return Exit.FAILED
        return self._watch(active, told[-1].place if told else None)

    def interactively(self) -> Exit:
        """Take one message after the other until the person leaves; never fails because of one."""
        llm = self.session.app.models.usual
        model = llm.name if llm else "no model: /help says what works without one"
        self.session.screen.note(f"{model}. Ctrl-C stops an answer, Ctrl-D exits.")
        if self.conversation is not None:
            self.go_on()
        use_history(self._typed_before())
        use_completion(self._completions)
        while True:
            try:
                said = self.session.screen.ask_lines("› ")
            except KeyboardInterrupt:
                self.session.screen.note("\n(Ctrl-D leaves)")
                continue
            if said is None:
                return Exit.OK
            if not said.strip():
                continue
            if said.strip() in {"/exit", "/quit"}:
                return Exit.OK
            try:
                if not self._obeyed(said):
                    self.turn(said)
            except BethinkError as error:
                self.session.screen.note(f"bethink: {error}", "red")

    def _obeyed(self, said: str) -> bool:
        """Do what is the terminal's own; False for anything else."""
        command, _, rest = said.strip().partition(" ")
        match command:
            case "/model":
                self._choose_model(rest.strip())
            case "/conversation":
                self._choose_conversation(rest.strip())
            case _:
                return False
        return True

    def _choose_model(self, name: str) -> None:
        models, screen = self.session.app.models, self.session.screen
        if name:
            models.check(name)
            self.model = name
        usual = models.usual
        now = self.model or (usual.name if usual else "none")
        screen.note(f"model: {now}")
        if not name:
            others = [one for one in (*models.assistants, *models.names()) if one != now]
            screen.note(f"others: {', '.join(others) or 'none'}. `/model NAME` chooses one.")

    def _choose_conversation(self, id: str) -> None:
        screen = self.session.screen
        if id == "new":
            self.conversation = None
            screen.note("A new conversation begins with your next message.")
        elif id:
            held = conversation_of(self.session, id)
            self.conversation = held.id
            screen.note(f"{held.title}, {held.id}")
            self.go_on()
        else:
            for one in self._lately():
                mark = "›" if one.id == self.conversation else " "
                screen.note(f"{mark} {one.id}  {one.title}")
            screen.note("`/conversation ID` goes to one, `/conversation new` begins another.")

    def _lately(self) -> list[Conversation]:
        page = self.session.mine(self.session.app.conversations.list, limit=_HISTORY_CONVERSATIONS)
        return [item.record for item in page.items]

    def _completions(self, typed: str) -> list[str]:
        """Whole lines with which a typed one may go on."""
        if typed.startswith("/model "):
            models = self.session.app.models
            return [f"/model {one}" for one in (*models.assistants, *models.names())]
        if typed.startswith("/conversation "):
            return [f"/conversation {id}" for id in ("new", *(one.id for one in self._lately()))]
        return [*SLASH_COMMANDS, "/model", "/conversation", "/exit"] if typed.startswith("/") else []

    def tell_where_it_stopped(self) -> None:
        """Say how the last answer ended, if it did not end well."""
        if self.conversation is None:
            return
        self.session.mine(self.session.app.runs.stored.settle, self.conversation)
        last = next(iter(self._newest(1)), None)
        if last is None or last.stop_reason is None or last.stop_reason in ("answered", "awaiting_approval"):
            return
        said = one_line(last.message.content[-_SHOWN_CHARS:], _SHOWN_CHARS)
        where = f" It stopped here: …{said}" if said else " It had no text yet."
        why = last.note or STOPPED.get(last.stop_reason, "")
        self.session.screen.note(f"The last answer is not complete. {why}{where}", "yellow")

    def wait_for_facts(self) -> None:
        """Let what is done with finished turns end, unless Ctrl-C says not to wait, and tell it."""
        app = self.session.app
        told = {_key(ref) for ref in self._changes()} if self._told is None else self._told
        if app.post_turn.is_busy:
            self.session.screen.status("… looking for facts to remember; Ctrl-C skips this")
            try:
                self.session.call(app.post_turn.finished)
            except KeyboardInterrupt:
                return
            finally:
                self.session.screen.status("")
        for ref in (one for one in self._changes() if _key(one) not in told):
            for fact in self.session.mine(app.memory.get, ref.ids):
                words = memory_updated(ref.change, fact.content if fact else "", ids=ref.ids, undo=ref.undo)
                self.session.screen.note(words)

    def _changes(self) -> Sequence[ChangedRef]:
        return [ref for stored in self._newest(1) for ref in stored.changed]

    def _watch(self, run: str, after: Place | None = None) -> Exit:
        """Show a run to its end, asking for the decisions that it needs."""
        self._told = set()
        while True:
            outcome = RunOutcome()
            with self._stoppable(run):
                for batch in self.session.follow(run, after):
                    self._show(run, batch, outcome)
            if outcome.reason != "awaiting_approval" or not _decide_all(self.session, run):
                return outcome.exit
            after = outcome.place

    def _show(self, run: str, batch: Sequence[NumberedEvent], outcome: RunOutcome) -> None:
        for numbered in batch:
            outcome.take(numbered)
            self.renderer.show(numbered)
            if isinstance(event := numbered.event, QuestionAsked):
                answer_question(self.session, run, event)
            elif isinstance(event, MemoryChanged) and self._told is not None:
                self._told.add(_key(event))

    @contextmanager
    def _stoppable(self, run: str) -> Generator[None]:
        """Inside, Ctrl-C stops the answer; pressed again, it ends the program."""
        is_stopping = False

        def stop(_number: int, _frame: object) -> None:
            nonlocal is_stopping
            if is_stopping:
                raise KeyboardInterrupt
            is_stopping = True
            self.session.soon(self.session.app.runs.cancel, self.session.principal, run)

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _newest(self, limit: int) -> list[StoredMessage]:
        if self.conversation is None:
            return []
        page = self.session.mine(self.session.app.conversations.messages, self.conversation, limit=limit)
        return [item.record for item in page.items]

    def _typed_before(self) -> list[str]:
        """What the owner said lately in one line, oldest first, for the arrow keys."""
        app = self.session.app
        lines: list[str] = []
        for item in self.session.mine(app.conversations.list, limit=_HISTORY_CONVERSATIONS).items:
            page = self.session.mine(app.conversations.messages, item.record.id, limit=_HISTORY_MESSAGES)
            said = [stored.record.message for stored in page.items]
            lines += [
                message.content
                for message in said
                if isinstance(message, UserMessage) and "\n" not in message.content
            ]
        return lines[::-1]


def _key(change: MemoryChanged | ChangedRef) -> tuple[str, ...]:
    return change.change, *change.ids


def _waiting_calls(session: Session, run: str) -> list[WaitingCall]:
    record = session.mine(session.app.runs.stored.get, run)
    return [item for item in record.waiting if item.decision is None]


def _decide_all(session: Session, run: str) -> bool:
    """Ask about every waiting call of a run; True when all are decided and the run goes on.

    Where nobody can be asked, or the answer is "later", the calls go on waiting,
    and the person is told how to come back to them.
    """
    for call in _waiting_calls(session, run):
        if not session.screen.can_ask or not _decide(session, run, call):
            _tell_waiting(session, run)
            return False
    return True


def _tell_waiting(session: Session, run: str) -> None:
    """Name the calls that wait, and where to decide about them."""
    record = session.mine(session.app.runs.stored.get, run)
    for item in _waiting_calls(session, run):
        session.screen.note(f"waiting for your decision: {item.label}. {_plain(item.reason)}", "yellow")
        session.screen.note(f"  {item.name} {exact(item.arguments)}", "yellow")
    command = f"`bethink chat --conversation {record.conversation}`"
    session.screen.note(f"Decide with {command} in a terminal, or on the web page.", "yellow")
    session.screen.note("Until then it is not done; a new message in this conversation rejects it.", "yellow")


def _plain(reason: str) -> str:
    """The reason without the marks of Markdown, which only the page shows."""
    return reason.replace("**", "")


def _decide(session: Session, run: str, call: WaitingCall) -> bool:
    session.screen.note(f"{call.label}: {_plain(call.reason)}", "bold")
    session.screen.note(f"  {call.name} {exact(call.arguments)}", "")
    while True:
        try:
            answer = session.screen.ask(
                session.screen.styled(_FINAL_QUESTION, "red") if call.final else _QUESTION
            )
        except KeyboardInterrupt:
            session.screen.note("")
            answer = None
        word = "later" if answer is None else answer.strip().lower()
        choice = _CHOICES.get(word)
        if choice is not None and not (choice.always and call.final):
            session.mine(session.app.runs.approvals.decide, run, call=call.call, choice=choice)
            return True
        if word in {"e", "edit"}:
            if _edit(session, run, call):
                return True
        elif word in {"l", "later"}:
            return False
        else:
            session.screen.note("Answer y, n, e or l." if call.final else "Answer y, a, n, e or l.")


def _edit(session: Session, run: str, call: WaitingCall) -> bool:
    """Have the arguments changed; False when what was typed cannot be used, which is said."""
    pretty = msgspec.json.format(call.arguments.encode(), indent=2).decode()
    try:
        arguments = msgspec.json.decode(session.screen.edit(pretty, ".json"), type=dict[str, Any])
        choice = ApprovalChoice("edit", arguments)
        session.mine(session.app.runs.approvals.decide, run, call=call.call, choice=choice)
    except msgspec.MsgspecError as error:
        session.screen.note(f"These are not valid arguments: {error}. Give one JSON object.", "red")
        return False
    except UnknownId:
        raise
    except BadInput as error:
        session.screen.note(error.message, "red")
        return False
    return True


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
