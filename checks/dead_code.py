"""Code that nothing reaches; run by `make check`.

vulture finds it. Arguments are ruff's to judge, and fields of a record are
used by whoever reads its JSON, so neither is asked of vulture; nor are the
methods of the tests' doubles, which answer to a port.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from vulture import Vulture

ROOT = Path(__file__).parent.parent
KINDS = frozenset({"import", "unreachable_code", "class", "function", "method", "property"})


def main() -> int:
    """Prints what nothing reaches; 1 if there is something."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["vulture"]
    finder: Any = Vulture(
        ignore_names=settings.get("ignore_names"), ignore_decorators=settings.get("ignore_decorators")
    )
    finder.scavenge([str(ROOT / path) for path in settings["paths"] if (ROOT / path).exists()])
    dead = [
        item
        for item in finder.get_unused_code(min_confidence=settings["min_confidence"])
        if item.typ in KINDS and not (item.typ == "method" and ROOT / "tests" in Path(item.filename).parents)
    ]
    for item in dead:
        print(f"{item.filename}:{item.first_lineno}: {item.message}")
    print(f"{len(dead)} found" if dead else "none")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
