"""What code over the vault begins with, inside the sandbox: the file functions of mem-agent, and its report.

`tools/vault_code` puts it before a model's code; it is never imported. It sees a copy of the pages, its
working directory; what it changes there is taken over afterwards. Names, arguments and replies are those of
mem-agent (github.com/firstbatchxyz/mem-agent-mcp, `agent/tools.py`), but that an old text which occurs more
than once is refused. `ORDERS` stands before it.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

orders: dict[str, Any] = globals()["ORDERS"]
absent: dict[str, int] = orders["absent"]
"""Pages that were not laid out, with their sizes."""
names: dict[str, str] = orders["names"]
"""Other names of pages, without case, with their paths."""
was_read: set[str] = set()

_MOST_SHOWN = 4_000
_MOST_LINES = 10
_OWN = Path(".bethink")


class _NotHere(BaseException):
    """A page that was not laid out is wanted: the host lays it out and runs the code again."""


def _clean(path: object) -> str:
    text = str(path).strip().lstrip("/")
    return os.path.normpath(text) if text else ""


def _page(path: object) -> Path | None:
    name = _clean(path)
    file = Path(name)
    if name in absent and not file.exists():
        raise _NotHere(name)
    return file if name and file.is_file() else None


def _text(file: Path) -> str:
    return file.read_bytes().decode()


def read_file(file_path: str) -> str:
    """The text of a page, or a sentence that begins with `Error`."""
    file = _page(file_path)
    if file is None:
        kind = "is a directory" if Path(_clean(file_path)).is_dir() else "does not exist"
        return f"Error: {file_path} {kind}. list_files() shows what there is."
    was_read.add(_clean(file_path))
    return _text(file)


def create_file(file_path: str, content: str = "") -> bool:
    """Write a page that was not there, or all of one that was; folders come with it."""
    file = _page(file_path) or Path(_clean(file_path))
    if file.suffix != ".md":
        raise ValueError(f"{file_path}: a page's name ends in .md")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode())
    return True


def update_file(file_path: str, old_content: str, new_content: str) -> bool | str:
    """Put one text in the place of another; True, or a sentence that says why not."""
    file = _page(file_path)
    if file is None:
        return f"Error: {file_path} does not exist"
    if not old_content:
        return "Error: old_content is empty: name the text to replace"
    text = _text(file)
    count = text.count(old_content)
    if count != 1:
        where: list[str] = []
        at = -1
        while (at := text.find(old_content, at + 1)) >= 0 and len(where) < _MOST_LINES:
            where.append(str(text.count("\n", 0, at) + 1))
        lines = f" (lines {', '.join(where)})" if where else ""
        return f"Error: old_content occurs {count} times in {file_path}{lines}; it must occur exactly once"
    file.write_bytes(text.replace(old_content, new_content).encode())
    return True


def delete_file(file_path: str) -> bool:
    """Remove a page."""
    file = _page(file_path)
    if file is None:
        return False
    file.unlink()
    return True


def create_dir(dir_path: str) -> bool:
    """Make a folder."""
    Path(_clean(dir_path) or ".").mkdir(parents=True, exist_ok=True)
    return True


def check_if_file_exists(file_path: str) -> bool:
    """Whether there is such a page."""
    name = _clean(file_path)
    return name in absent or Path(name).is_file()


def check_if_dir_exists(dir_path: str) -> bool:
    """Whether there is such a folder."""
    name = _clean(dir_path) or "."
    return Path(name).is_dir() or any(path.startswith(f"{name}/") for path in absent)


def get_size(file_or_dir_path: str = "") -> int:
    """Bytes of a page, or of all in a folder; of everything without a path."""
    name = _clean(file_or_dir_path)
    sizes = absent | {path: Path(path).stat().st_size for path in _here()}
    if name in sizes:
        return sizes[name]
    inside = [size for path, size in sizes.items() if name in {"", "."} or path.startswith(f"{name}/")]
    if name and not inside and not Path(name).is_dir():
        raise FileNotFoundError(f"Path not found: {file_or_dir_path}")
    return sum(inside)


def _here() -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk("."):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [(Path(folder) / name).as_posix() for name in names if not name.startswith(".")]
    return found


def list_files() -> str:
    """All pages as a tree."""
    tree: dict[str, Any] = {}
    for path in sorted({*_here(), *absent}):
        branch = tree
        for part in path.split("/"):
            branch = branch.setdefault(part, {})
    lines = ["./"]

    def grow(branch: dict[str, Any], before: str) -> None:
        for place, (name, inner) in enumerate(branch.items(), 1):
            is_last = place == len(branch)
            lines.append(f"{before}{'└── ' if is_last else '├── '}{name}{'/' if inner else ''}")
            grow(inner, before + ("    " if is_last else "│   "))

    grow(tree, "")
    return "\n".join(lines)


def go_to_link(link_string: str) -> str:
    """The text of the page that a link such as [[entities/jane_doe]] or [[jane_doe|her]] leads to."""
    inner = re.sub(r"^!?\[\[|\]\]$", "", link_string.strip())
    target = inner.partition("|")[0].partition("#")[0].strip().casefold().removesuffix(".md")
    paths = sorted({*_here(), *absent}, key=lambda path: (path.count("/"), path))
    wanted = [path for path in paths if path.casefold() == f"{target}.md"]
    wanted += [path for path in paths if f"/{path}".casefold().endswith(f"/{target}.md")]
    wanted += [names[target]] if target in names else []
    return read_file(wanted[0]) if wanted else f"Error: File {link_string} not found"


FUNCTIONS: dict[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        *(read_file, create_file, update_file, delete_file, create_dir, list_files, go_to_link),
        *(check_if_file_exists, check_if_dir_exists, get_size),
    )
}


def _opened(file: object, *arguments: Any, **more: Any) -> object:  # noqa: ANN401 - what `open` takes
    """`open`, for which a page that was not laid out is laid out, too."""
    if isinstance(file, str | Path):
        _page(file)
        was_read.add(_clean(str(file)))
        return cast("object", Path(file).open(*arguments, **more))
    raise TypeError("open a page by its path")


def _executed(source: str, scope: dict[str, Any]) -> None:
    """Run code; the value of a last line that is an expression is assigned to `_`."""
    linecache.cache["<code>"] = (len(source), None, source.splitlines(keepends=True), "<code>")
    tree = ast.parse(source, "<code>")
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        tree.body[-1] = ast.copy_location(ast.Assign([ast.Name("_", ast.Store())], last.value), last)
    exec(compile(ast.fix_missing_locations(tree), "<code>", "exec"), scope)  # noqa: S102 - the purpose


def _run(source: str) -> int:
    """The exit status; what was assigned is printed, as mem-agent is told it."""
    scope: dict[str, Any] = {"__name__": "__main__", "open": _opened, **FUNCTIONS}
    status = 0
    try:
        _executed(source, scope)
    except _NotHere as wanted:
        _OWN.mkdir(exist_ok=True)
        (_OWN / "needed").write_text(str(wanted), encoding="utf-8")
        return 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 0
    except BaseException as error:  # noqa: BLE001 - shown as Python itself would, without our own frames
        shown = traceback.TracebackException.from_exception(error)
        own = [frame for frame in shown.stack if frame.filename == "<code>"]
        shown.stack = traceback.StackSummary.from_list(own)
        sys.stdout.write("".join(shown.format()))
        status = 1
    assigned = {name: value for name, value in scope.items() if _is_shown(name, value)}
    if assigned or not status:
        pairs = ", ".join(f"{name!r}: {_shown(value)}" for name, value in assigned.items())
        sys.stdout.write(f"{{{pairs}}}\n")
    _OWN.mkdir(exist_ok=True)
    (_OWN / "read").write_text(json.dumps(sorted(was_read)), encoding="utf-8")
    return status


def _is_shown(name: str, value: object) -> bool:
    if name == "_":
        return value is not None
    return not (name.startswith("_") or callable(value) or isinstance(value, type(os)))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}… ({len(text):,} characters)"


sys.exit(_run(orders["source"]))
