"""Tools that others wrote: entry points that the settings name, and files of the data directory.

Both run inside this process with all its rights, so nothing is loaded that was
not asked for. One that cannot be loaded is left out, and says why.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

from bethink.telemetry import log
from bethink.tool import Tool

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

GROUP = "bethink.tools"
FOLDER = "tools"

_log = log("plugins")


@dataclass(frozen=True, slots=True)
class LoadedPlugins:
    """What was loaded, and in words what could not be."""

    tools: tuple[Tool, ...] = ()
    faults: tuple[str, ...] = ()


def load_plugins(names: Sequence[str], folder: Path | None) -> LoadedPlugins:
    """The tools of the named entry points and of a folder's files; None where its files stay out."""
    tools: list[Tool] = []
    faults: list[str] = []
    known = {point.name: point for point in entry_points(group=GROUP)} if names else {}
    for name in names:
        if name not in known:
            faults.append(f"plug-in {name}: nothing installed has an entry point {GROUP} of this name")
            continue
        _load(f"plug-in {name}", known[name].load, tools, faults)
    for path in sorted(folder.glob("*.py")) if folder is not None else ():
        _load(f"{FOLDER}/{path.name}", partial(_module, path), tools, faults)
    for fault in faults:
        _log.error("%s", fault)
    return LoadedPlugins(tuple(tools), tuple(faults))


def _load(source: str, load: Callable[[], object], tools: list[Tool], faults: list[str]) -> None:
    try:
        found = [replace(tool, source=source) for tool in _tools_in(load())]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody else's module may raise anything
        faults.append(f"{source} cannot be loaded: {type(error).__name__}: {error}")
        return
    if not found:
        faults.append(f"{source} has no tools: decorate an async function with bethink.tool.tool")
    known = {tool.name for tool in tools}
    for tool in found:
        if tool.name in known:
            faults.append(f"{source}: there is a tool {tool.name} already, and this one is left out")
        else:
            tools.append(tool)
            known.add(tool.name)


def _tools_in(loaded: object) -> Iterable[Tool]:
    """A tool, a function that gives tools, a list of them, or a module that has some."""
    match loaded:
        case Tool():
            return [loaded]
        case list() | tuple():
            return [item for item in cast("Sequence[object]", loaded) if isinstance(item, Tool)]
        case _ if callable(loaded):
            return _tools_in(loaded())
        case _:
            return [value for value in vars(loaded).values() if isinstance(value, Tool)]


def _module(path: Path) -> ModuleType:
    name = f"bethink_user_tools_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python module")
    module = importlib.util.module_from_spec(spec)
    # Where annotations are resolved, the module is looked up by its name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
