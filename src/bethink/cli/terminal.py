"""The terminal: answers on standard output, everything about them on standard error.

Text that came from a model, a tool or the memory is shown without control
characters: an escape sequence in it must not command the terminal.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from bethink import clock
from bethink.errors import BadInput, BethinkError

_SPOOLED_BYTES = 8_000_000


@contextmanager
def new_file(path: Path) -> Generator[BinaryIO]:
    """A file for nobody else's eyes, there under its name only once it is whole."""
    if path.exists():
        raise BadInput(f"{path} already exists: choose another name, or move it away.")
    part = path.with_name(f"{path.name}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123 - with a mode
            yield file
        part.replace(path)
    except OSError as error:
        raise BethinkError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def opened_file(name: str) -> Generator[BinaryIO]:
    """A file to read, or what is piped in if its name is `-`; one can go back in both.

    Raises:
        BadInput: it cannot be read.
    """
    if name == "-":
        import tempfile

        with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as spooled:
            shutil.copyfileobj(sys.stdin.buffer, spooled)
            yield spooled  # pyright: ignore[reportReturnType] - it does all that a file does
        return
    try:
        with Path(name).open("rb") as file:
            yield file
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}.") from error


UNASKED = "There is no terminal to ask: --yes deletes without asking."
"""What is said if somebody must agree that something goes, and nobody can be asked."""
_CONTROLS = {code: None for code in (*range(32), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
_STYLES = {"dim": "2", "bold": "1", "italic": "3", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_COLUMNS = 80
_PASTED_WITHIN_S = 0.02
"""Nobody types the next line so soon."""
CHANGES = {
    "added": "Remembered",
    "merged": "Known already",
    "superseded": "Changed",
    "corrected": "Corrected",
    "suggested": "Suggested",
    "retracted": "Retracted",
    "restored": "Restored",
    "forgotten": "Forgotten for good",
    "imported": "Imported",
    "consolidated": "Duplicates merged",
    "expired": "Too old, retracted",
    "undone": "Taken back",
}
"""What became of a fact, as a person says it."""
_ERASE_LINE = "\r\x1b[K"


def printable(text: str) -> str:
    """The text without control characters, other than line breaks and tabs."""
    return text.translate(_CONTROLS)


def exact(text: str) -> str:
    """The text with everything invisible spelled out: what is to be approved must show all of itself."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode()
        for char in text
    )


def one_line(text: str, limit: int = 200) -> str:
    """The text folded into one line of at most `limit` characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def document_of(record: object) -> dict[str, Any]:
    """A record as JSON has it, to which more can be added."""
    import msgspec

    return msgspec.to_builtins(record)


def rfc3339(at: int | None) -> str | None:
    """A stored time as JSON has it, in UTC."""
    return None if at is None else clock.rfc3339(at)


def counted(count: int, noun: str) -> str:
    """The count with its noun: "1 page", "2,000 pages", "2 memories", "2 keys"."""
    if count != 1:
        is_vowel = noun.endswith(("ay", "ey", "oy"))
        noun = f"{noun[:-1]}ies" if noun.endswith("y") and not is_vowel else f"{noun}s"
    return f"{count:,} {noun}"


@dataclass(slots=True)
class Screen:
    """Where a command writes. Colours and a line of what goes on only where a person watches.

    With `is_data`, standard output carries JSON and nobody is asked anything.
    """

    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    editor: str | None = None
    is_data: bool = False
    _colours: bool = False
    _status: str = ""
    _mid_line: bool = False

    @classmethod
    def of_process(cls, *, is_data: bool = False) -> Screen:
        """The screen of this process, as its environment asks for it."""
        from bethink.settings import terminal_preferences

        options = terminal_preferences()
        return cls(editor=options.editor, is_data=is_data, _colours=sys.stderr.isatty() and not options.plain)

    @property
    def can_ask(self) -> bool:
        """Whether a person is there to answer."""
        return not self.is_data and sys.stdin.isatty() and self.err.isatty()

    def text(self, text: str) -> None:
        """More of the answer, at once."""
        self.status("")
        self._write(printable(text) if self.out.isatty() else text)
        if text:
            self._mid_line = not text.endswith("\n")

    @property
    def renders(self) -> bool:
        """Whether answers are shown in styles: a person reads them at a terminal with colours."""
        return self._colours and not self.is_data and self.out.isatty()

    def rendered(self, line: str) -> None:
        """A line of the answer whose text was made printable before it was styled."""
        self.status("")
        self._write(f"{line}\n")

    def end_line(self) -> None:
        """Let what comes next begin on a line of its own."""
        if self._mid_line:
            self._write("\n")
            self._mid_line = False

    def line(self, line: str) -> None:
        """One line of a result."""
        self.text(f"{line}\n")

    def result(self, value: object, *lines: str) -> None:
        """A result of the command: the value as a line of JSON if programs read it, else the lines."""
        if self.is_data:
            import msgspec

            self.line(msgspec.json.encode(value).decode())
            return
        for line in lines:
            self.line(line)

    def note(self, line: str, style: str = "dim") -> None:
        """One line about the result, for the person."""
        self.status("")
        if self.out.isatty():
            self.end_line()
        self.err.write(self.styled(printable(line), style) + "\n")
        self.err.flush()

    def remark(self, line: str, style: str = "dim") -> None:
        """A note that programs have in the result itself, and are not told."""
        if not self.is_data:
            self.note(line, style)

    def status(self, text: str) -> None:
        """What goes on now, on a line that is replaced; nothing where nobody watches."""
        if text == self._status or not self._colours:
            return
        if self.out.isatty() and text:
            self.end_line()
        # A terminal that does not know its width says 0.
        width = os.get_terminal_size(self.err.fileno()).columns or _COLUMNS
        self.err.write(_ERASE_LINE + self.styled(one_line(text, width - 1), "dim"))
        self.err.flush()
        self._status = text

    def styled(self, text: str, style: str) -> str:
        """The text in a style, where colours are wanted."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colours and style else text

    def _write(self, text: str) -> None:
        try:
            self.out.write(text)
            self.out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise BethinkError(f"The output cannot be written: {error.strerror}.") from error

    def ask(self, prompt: str) -> str | None:
        """A line that the person types; None at the end of the input (Ctrl-D).

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed instead.
        """
        self.status("")
        self.end_line()
        if self.is_data or not self.out.isatty():
            # Line editing writes its prompt to the output, where it does not belong now.
            self.err.write(prompt)
            self.err.flush()
            prompt = ""
        try:
            return input(prompt)
        except EOFError:
            self.err.write("\n")
            return None

    def ask_lines(self, prompt: str) -> str | None:
        """As `ask`, but of several lines: pasted together, or each but the last ended by a backslash."""
        text = self.ask(prompt)
        while text is not None and text.endswith("\\"):
            more = self.ask("… ")
            text = text[:-1] + "\n" + (more or "")
        while text is not None and _is_more_typed():
            more = self.ask("")
            text = text if more is None else f"{text}\n{more}"
        return text

    def agrees(self, question: str) -> bool:
        """Whether the person answers a question with yes."""
        return (self.ask(question) or "").strip().lower() in {"y", "yes"}

    def confirmed(self, question: str, *, yes: bool, refusal: str) -> bool:
        """Whether to do what is asked about: `yes` was given with the command, or the person agrees.

        Raises:
            BadInput: nobody can be asked; `refusal` says what to do.
        """
        if not yes and not self.can_ask:
            raise BadInput(refusal)
        return yes or self.agrees(question)

    def edit(self, text: str, suffix: str) -> str:
        """The text as the person leaves it in their editor, or types it where none is set.

        Raises:
            BadInput: the editor cannot be started, or fails.
        """
        if not self.editor:
            typed = self.ask("New text in one line (set EDITOR to use an editor): ")
            return text if typed is None or not typed.strip() else typed
        import shlex
        import tempfile

        with tempfile.TemporaryDirectory(prefix="bethink-") as directory:
            file = Path(directory) / f"edit{suffix}"
            file.write_text(text, encoding="utf-8")
            _run_editor([*shlex.split(self.editor), str(file)])
            return file.read_text(encoding="utf-8", errors="replace")


def piped_line(what: str) -> str:
    """The line that is piped in because there is no terminal to type `what`.

    Raises:
        BadInput: there is none.
    """
    if piped := sys.stdin.readline().rstrip("\r\n"):
        return piped
    raise BadInput(f"There is no terminal to type {what}: pipe it in as one line.")


def _run_editor(command: Sequence[str]) -> None:
    import subprocess

    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BadInput(
            f"The editor {command[0]!r} could not be used: {error}. Set EDITOR to another one."
        ) from error


def read_stdin(encoding: str = "utf-8-sig") -> str:
    """Everything that is piped in, by default without the mark at its beginning.

    Raises:
        BadInput: it is not text.
    """
    try:
        return sys.stdin.buffer.read().decode(encoding)
    except UnicodeDecodeError as error:
        raise BadInput(f"The input is not UTF-8 text (at byte {error.start:,}).") from error


def _is_more_typed() -> bool:
    """Whether lines wait already: a terminal without bracketed paste gives what is pasted line by line."""
    return sys.stdin.isatty() and bool(select.select([sys.stdin], [], [], _PASTED_WITHIN_S)[0])


def use_completion(words: Callable[[str], Sequence[str]]) -> None:
    """Have Tab complete a typed line by the words that `words` gives for it, whole lines; paste as one."""
    with suppress(ImportError):
        import readline

        def completed(_: str, state: int) -> str | None:
            typed = readline.get_line_buffer()[: readline.get_endidx()]
            # A word begins behind the last space, and what is before it stays.
            kept = typed.rpartition(" ")[0] + " " if " " in typed else ""
            fitting = [one.removeprefix(kept) for one in words(typed) if one.startswith(typed)]
            return fitting[state] if state < len(fitting) else None

        readline.set_completer_delims(" ")
        readline.set_completer(completed)
        if "libedit" in (readline.__doc__ or ""):
            readline.parse_and_bind("bind ^I rl_complete")
        else:
            readline.parse_and_bind("tab: complete")
            readline.parse_and_bind("set enable-bracketed-paste on")


def use_history(lines: Sequence[str]) -> None:
    """Let the arrow keys bring back these lines, oldest first. Nothing of it is written to a file."""
    with suppress(ImportError):  # a Python without readline
        import readline

        readline.clear_history()
        readline.set_auto_history(True)
        for line in lines:
            readline.add_history(line)
