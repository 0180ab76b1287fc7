"""A conversation in the terminal. `chat` opens it, and says or lets be typed what is said in it."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.cli.approval import decide_all, waiting_calls
from bethink.cli.exits import Exit
from bethink.cli.render import STOPPED, Outcome, memory_updated
from bethink.cli.terminal import one_line, use_history
from bethink.conversations import checked_content
from bethink.errors import BethinkError, UnknownId
from bethink.events import Place
from bethink.messages import UserMessage

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from bethink.cli.render import Renderer
    from bethink.cli.session import Session
    from bethink.cli.terminal import Screen
    from bethink.conversations import ChangedRef, StoredMessage

_HISTORY_CONVERSATIONS = 10
_HISTORY_MESSAGES = 50
_SHOWN_CHARS = 300


def find_conversation(session: Session, *, id: str | None, last: bool) -> str | None:
    """The conversation to go on in; None for a new one.

    Raises:
        UnknownId: there is none.
    """
    conversations = session.app.conversations
    if id is not None:
        return session.call(conversations.get, session.principal, id).record.id
    if not last:
        return None
    page = session.call(conversations.list, session.principal, limit=1)
    if not page.items:
        message = "There is no conversation yet to go on in: begin one with `bethink chat`."
        raise UnknownId(message)
    return page.items[0].record.id


@dataclass(slots=True)
class Talk:
    """One conversation in the terminal. `conversation` is None until something is said in a new one."""

    session: Session
    screen: Screen
    conversation: str | None
    renderer: Renderer

    def turn(self, said: str) -> Exit:
        """Say something and show the answer; how it ended.

        Raises:
            BadInput: the message is empty or too long.
            Busy: another process answers in this conversation.
        """
        app, principal = self.session.app, self.session.principal
        checked_content(said, app.settings.max_message_chars)
        if self.conversation is None:
            self.conversation = self.session.call(app.conversations.create, principal).id
        return self._watch(self.session.call(app.runs.start, principal, self.conversation, said))

    def go_on(self) -> Exit:
        """Take up what the conversation was left with: tell it, follow it, or ask about it."""
        self.tell_where_it_stopped()
        if (active := self._active_run()) is None:
            return Exit.OK
        if not waiting_calls(self.session, active):
            self.screen.note("This conversation is being answered by another program; here is its answer.")
            return self._watch(active)
        after = self._end_of(active)
        return self._watch(active, after) if decide_all(self.session, self.screen, active) else Exit.FAILED

    def interactively(self) -> Exit:
        """Take one message after the other until the person leaves; never fails because of one."""
        self._greet()
        if self.conversation is not None:
            self.go_on()
        use_history(self._typed_before())
        while True:
            try:
                said = self.screen.ask("› ")
            except KeyboardInterrupt:
                self.screen.note("\n(Ctrl-D leaves)")
                continue
            if said is None:
                return Exit.OK
            if not said.strip():
                continue
            try:
                self.turn(said)
            except BethinkError as error:
                self.screen.note(f"bethink: {error}", "red")

    def tell_where_it_stopped(self) -> None:
        """Say how the last answer ended, if it did not end well."""
        if self.conversation is None:
            return
        self.session.call(self.session.app.runs.stored.settle, self.session.principal, self.conversation)
        last = next(iter(self._newest(1)), None)
        if last is None or last.stop_reason is None or last.stop_reason in ("answered", "awaiting_approval"):
            return
        said = one_line(last.message.content[-_SHOWN_CHARS:], _SHOWN_CHARS)
        where = f" It stopped here: …{said}" if said else " It had not said anything yet."
        why = last.note or STOPPED.get(last.stop_reason, "")
        self.screen.note(f"The last answer is not complete. {why}{where}", "yellow")

    def wait_for_facts(self) -> None:
        """Let what is done with finished turns end, unless Ctrl-C says not to wait, and tell it."""
        app = self.session.app
        if not app.between_turns.is_busy:
            return
        told = self._changes()
        self.screen.status("… looking for what is worth remembering; Ctrl-C leaves it")
        try:
            self.session.call(app.between_turns.finished)
        except KeyboardInterrupt:
            return
        finally:
            self.screen.status("")
        for ref in self._changes()[len(told) :]:
            for fact in self.session.call(app.memory.get, self.session.principal, ref.ids):
                text = fact.content if fact else ""
                self.screen.note(memory_updated(ref.change, text, ref.undo))

    def _changes(self) -> Sequence[ChangedRef]:
        return [ref for stored in self._newest(1) for ref in stored.changed]

    def _watch(self, run: str, after: Place | None = None) -> Exit:
        """Show a run to its end, asking for the decisions that it needs."""
        while True:
            outcome = self._show(run, after)
            if outcome.reason != "awaiting_approval" or not decide_all(self.session, self.screen, run):
                return outcome.exit
            after = outcome.place

    def _show(self, run: str, after: Place | None) -> Outcome:
        outcome = Outcome()
        with self._stoppable(run):
            for batch in self.session.follow(run, after):
                for numbered in batch:
                    outcome.take(numbered)
                    self.renderer.show(numbered)
        return outcome

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

    def _greet(self) -> None:
        app = self.session.app
        model = app.ports.llm.name if app.ports.llm else "no model: /help says what works without one"
        self.screen.note(f"{model}. Ctrl-C stops an answer, Ctrl-D leaves.")

    def _active_run(self) -> str | None:
        if self.conversation is None:
            return None
        held = self.session.call(
            self.session.app.conversations.get, self.session.principal, self.conversation
        )
        return held.record.active_run

    def _end_of(self, run: str) -> Place | None:
        """The place behind all that a waiting run has said."""
        stored = self.session.call(self.session.app.runs.stored.events, self.session.principal, run, Place(0))
        return stored[-1].place if stored else None

    def _newest(self, limit: int) -> list[StoredMessage]:
        if self.conversation is None:
            return []
        page = self.session.call(
            self.session.app.conversations.messages,
            self.session.principal,
            self.conversation,
            limit=limit,
        )
        return [item.record for item in page.items]

    def _typed_before(self) -> list[str]:
        """What the owner said lately in one line, oldest first, for the arrow keys."""
        app, principal = self.session.app, self.session.principal
        lines: list[str] = []
        for item in self.session.call(app.conversations.list, principal, limit=_HISTORY_CONVERSATIONS).items:
            page = self.session.call(
                app.conversations.messages, principal, item.record.id, limit=_HISTORY_MESSAGES
            )
            said = [stored.record.message for stored in page.items]
            lines += [
                message.content
                for message in said
                if isinstance(message, UserMessage) and "\n" not in message.content
            ]
        return lines[::-1]
