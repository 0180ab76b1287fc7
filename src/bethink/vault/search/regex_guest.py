"""The process that tries a regular expression on texts.

`regexes` starts this file, and kills the process when it takes long.
Nothing of Bethink is imported here. On standard input: a line of JSON with the
pattern, then for each round a line with the lengths in bytes of its texts, and
these. On standard output: a line of JSON a round, the places found in each.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from itertools import islice

_CPU_S = 60
"""A process whose parent died ends by itself."""
_MEMORY_BYTES = 1 << 30


def _bound(what: int, most: int) -> None:
    try:
        resource.setrlimit(what, (most, most))
    except (OSError, ValueError):
        # Some systems know no such bound; the parent's clock holds everywhere.
        return


def _main() -> None:
    _bound(resource.RLIMIT_CPU, _CPU_S)
    _bound(resource.RLIMIT_AS, _MEMORY_BYTES)
    orders = json.loads(sys.stdin.buffer.readline())
    expression = re.compile(orders["pattern"], orders["flags"])
    most = orders["most"]
    while line := sys.stdin.buffer.readline():
        found: list[list[tuple[int, int]]] = []
        for length in json.loads(line):
            text = sys.stdin.buffer.read(length).decode()
            found.append([hit.span() for hit in islice(expression.finditer(text), most)])
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
