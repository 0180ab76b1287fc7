"""The program of one execution: runs the code it was given, as a script would. See `guest`."""

from __future__ import annotations

import ast
import linecache
import sys
import traceback
from typing import Any

orders: dict[str, Any] = globals()["orders"]

_NAME = "<code>"


def _run(source: str) -> int:
    """The exit status. The value of a last line that is an expression is shown, as a prompt shows it."""
    scope: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    linecache.cache[_NAME] = (len(source), None, source.splitlines(keepends=True), _NAME)
    try:
        tree = ast.parse(source, _NAME)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, _NAME, "exec"), scope)  # noqa: S102 - the sandbox's purpose
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), _NAME, "eval"), scope)  # noqa: S307 - the same
            if value is not None:
                sys.stdout.write(f"{value!r}\n")
    except SystemExit as leaving:
        if isinstance(leaving.code, str):
            sys.stderr.write(f"{leaving.code}\n")
            return 1
        return leaving.code or 0
    except BaseException as error:  # noqa: BLE001 - shown as Python itself would, without our own frames
        frames = error.__traceback__.tb_next if error.__traceback__ else None
        sys.stdout.flush()
        traceback.print_exception(type(error), error, frames)
        return 1
    return 0


_status = _run(orders["code"])
sys.stdout.flush()
sys.exit(_status)
