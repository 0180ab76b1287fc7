"""Write what the server promises the interface to `ui/contract/`, as JSON Schema.

`make check` calls it with `--check`: it then only compares, and fails when the
committed files say something else than the code. The interface's own
`npm run contract` turns these files into TypeScript.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec

from bethink.events import Event

FOLDER = Path(__file__).parent.parent / "ui" / "contract"


def events_schema() -> dict[str, object]:
    """The closed union of events: every shape under `$defs`, the union itself under `anyOf`."""
    (union,), shapes = msgspec.json.schema_components([Event], ref_template="#/$defs/{name}")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **union, "$defs": shapes}


def main() -> int:
    """Write the files, or with `--check` say which of them differ. Returns the exit code."""
    differing = 0
    for name, schema in {"events.json": events_schema()}.items():
        path = FOLDER / name
        text = json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.stderr.write(
                f"{path.name} is not what the code says; run scripts/contract.py, then npm run contract\n"
            )
            differing += 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
