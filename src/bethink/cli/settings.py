"""`bethink settings`: show and change the settings that are kept in the data directory.

A `serve` that runs on the same directory has them at once, too.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from bethink.cli.commands import Commands, arg
from bethink.cli.terminal import one_line, rfc3339
from bethink.errors import BadInput, UnknownId

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.configuration import SettingState

_EPILOG = """\
examples:
  bethink settings list --group model
  bethink settings set recall_limit 8
  bethink settings set model_fallbacks openai:gpt-4o-mini,ollama:llama3.2
  bethink settings set openai_api_key                # asks for it, or reads one line that is piped in

What a flag, the environment or bethink.toml sets stands above these."""
COMMANDS = Commands(_EPILOG, is_operators=True)
_NAME = arg("name NAME", "the setting's name, such as recall_limit or vault.trust")
_WIDTH = 34
_SHOWN = 60
_CHANGES = 50


@COMMANDS.add(
    "list",
    arg("--group GROUP", "only those of one group, such as model or web"),
    arg("--set", "only those that somebody set"),
    json="each setting",
)
def _list(session: Session, options: Namespace) -> None:
    """Show all settings and where their values come from."""
    for state in session.app.configuration.states():
        is_wanted = options.group in (None, state.setting.group)
        if is_wanted and (state.origin.source != "default" or not options.set):
            _show(session, state)


@COMMANDS.add("get", _NAME, json="each setting")
def _get(session: Session, options: Namespace) -> None:
    """Show one setting."""
    state = _found(session, options.name)
    _show(session, state)
    session.screen.note(state.setting.description)


@COMMANDS.add(
    "set",
    _NAME,
    arg("value VALUE?", "its value; lists with commas, objects as JSON; a secret is asked for"),
    json="each setting",
)
def _set(session: Session, options: Namespace) -> None:
    """Change a setting; it holds at once, in a server that runs, too."""
    state = _found(session, options.name)
    if state.setting.secret:
        value = _secret(session, options)
    elif options.value is None:
        raise BadInput(f"Give a value: bethink settings set {options.name} VALUE")
    else:
        value = _parsed(options.value)
    _change(session, options.name, value)


@COMMANDS.add("reset", _NAME, json="each setting")
def _reset(session: Session, options: Namespace) -> None:
    """Put a setting's default back."""
    _change(session, options.name, None)


@COMMANDS.add("changes", json="each change")
def _list_changes(session: Session, _: Namespace) -> None:
    """Show who changed what, the newest first."""
    for change in session.app.configuration.changes[:_CHANGES]:
        at = rfc3339(change.at) or ""
        document = {
            "at": at,
            "by": change.by,
            "door": change.door,
            "name": change.name,
            "old": change.old,
            "new": change.new,
        }
        told = f"{_words(change.old)} → {_words(change.new)}"
        session.screen.result(document, f"{at[:16]}  {change.by:<12} {change.name:<{_WIDTH}} {told}")


def _change(session: Session, name: str, value: object) -> None:
    session.mine(session.app.configuration.change, {name: value})
    state = _found(session, name)
    _show(session, state)
    if state.is_pending:
        session.screen.note("It holds from the next start.")


def _found(session: Session, name: str) -> SettingState:
    for state in session.app.configuration.states():
        if state.setting.name == name:
            return state
    raise UnknownId(f"There is no setting {name[:80]!r}: `bethink settings list` shows them.")


def _secret(session: Session, options: Namespace) -> str:
    import getpass

    if options.value is not None:
        raise BadInput("A secret is not taken from the command line, where others can read it: leave it out.")
    if session.screen.can_ask:
        return getpass.getpass(f"{options.name}: ")
    if piped := sys.stdin.readline().strip():
        return piped
    raise BadInput("There is no terminal to type a secret: pipe it in as one line.")


def _parsed(text: str) -> object:
    """What was typed: JSON if it is some, else text, which settings read as the environment's."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _show(session: Session, state: SettingState) -> None:
    setting = state.setting
    document: dict[str, Any] = {
        "name": setting.name,
        "group": setting.group,
        "title": setting.title,
        "value": state.value,
        "is_set": state.is_set,
        "source": state.origin.source,
        "source_name": state.origin.name,
        "restart": setting.restart,
        "pending": state.is_pending,
    }
    value = ("set" if state.is_set else "not set") if setting.secret else _words(state.value)
    source = "" if state.origin.source == "default" else f"  ({state.origin.told})"
    session.screen.result(document, f"{setting.name:<{_WIDTH}} {value}{source}")


def _words(value: object) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _SHOWN)
