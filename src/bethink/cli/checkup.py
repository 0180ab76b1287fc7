"""What `bethink doctor` looks at: one check a part, each a line that says what to do.

`ok` is well, `off` works less than it could, `broken` does not work. Nothing is
changed without `--fix`, and no value of a setting is shown: it may be a secret.
"""

from __future__ import annotations

import sqlite3
import sys
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from bethink import __version__
from bethink.cli import check_accounts, check_data, check_memory, check_services, check_vault
from bethink.cli.check import Check, broken, off, ok
from bethink.cli.exits import Exit
from bethink.cli.session import log_if_asked, settings_of
from bethink.cli.terminal import Screen
from bethink.errors import BadInput
from bethink.settings import origins, unknown_variables

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from bethink.settings import Settings


def check_up(options: argparse.Namespace) -> int:
    """Check everything, a line each; mend first what can be mended, where that is asked for."""
    log_if_asked(options)
    screen = Screen.of_process(is_data=options.json)
    is_broken = False
    for check in _checks(options, screen):
        is_broken = is_broken or check.state == "broken"
        if options.json:
            screen.line(msgspec.json.encode(check).decode())
        else:
            screen.line(f"{check.state:<7} {check.part:<15} {check.message}")
    return Exit.FAILED if is_broken else Exit.OK


def _checks(options: argparse.Namespace, screen: Screen) -> Iterator[Check]:
    yield _python()
    try:
        settings = settings_of(options)
    except BadInput as error:
        yield broken("settings", error.message)
        return
    yield _settings(options)
    if options.fix:
        check_data.close_to_others(settings.data_dir)
        check_services.fetch_embedder(settings, partial(screen.note, style="dim"))
    yield check_data.directory(settings.data_dir)
    yield check_data.free_space(settings.data_dir)
    database = check_data.database(settings.data_dir)
    yield database
    if database.state == "ok" and check_data.is_current(settings.data_dir):
        yield check_memory.memory(options)
        yield check_vault.vault(options)
        yield check_accounts.users(options, settings)
    yield from _services(settings)


def _services(settings: Settings) -> Iterator[Check]:
    yield check_services.embedder(settings)
    yield check_services.model(settings)
    yield check_services.memory_agent(settings)
    yield check_services.documents(settings)
    yield check_services.interface()
    yield check_services.server(settings)
    yield check_services.time_zone(settings)
    if settings.redis_url is not None:
        yield check_services.redis(settings.redis_url.get_secret_value(), settings.redis_timeout_s)


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return ok("Bethink", f"{__version__}, on Python {version} with SQLite {sqlite3.sqlite_version}")


def _settings(options: argparse.Namespace) -> Check:
    found = origins(
        data_dir=options.data, model=options.model, log_level=options.log_level, user=options.user
    )
    told = ", ".join(f"{name} from {origin}" for name, origin in sorted(found.items()))
    if unknown := unknown_variables():
        return off("settings", f"{', '.join(unknown)} is no setting: mistyped? {told or 'All are defaults'}.")
    return ok("settings", told or "all are defaults")
