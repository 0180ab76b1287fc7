"""Other readers of documents, measured by their own Python: `PYTHON peer_readers.py NAME TASK RESULTS`.

`reading` starts it. It imports nothing of Bethink, which is not installed there. All files are read in this
one process, one after the other: none of these readers walls a file in.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Read = Callable[[str], list[str]]


def _markitdown() -> Read:
    converter: Any = importlib.import_module("markitdown").MarkItDown()

    def read(path: str) -> list[str]:
        return [str(converter.convert(path).text_content)]

    return read


def _kreuzberg() -> Read:
    module: Any = importlib.import_module("kreuzberg")
    pages = module.PageConfig(extract_pages=True)
    config = module.ExtractionConfig(use_cache=False, disable_ocr=True, output_format="markdown", pages=pages)

    def read(path: str) -> list[str]:
        found = module.extract_file_sync(path, config=config)
        pages = [str(page["content"]) for page in found.pages or ()]
        # Of some formats it gives pages without text.
        return pages if sum(map(len, pages)) * 2 > len(found.content) else [str(found.content)]

    return read


PEERS: dict[str, Callable[[], Read]] = {"markitdown": _markitdown, "kreuzberg": _kreuzberg}


def peak_mb(process: str) -> int:
    """The most memory that a process had at once. `getrusage` counts that of whoever started it, too."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return next((int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)


def main() -> None:
    """Read every file of the task; a line each: its name, its pages, how long it took, what went wrong."""
    name, task, results = sys.argv[1:]
    read = PEERS[name]()
    with Path(results).open("w", encoding="utf-8") as out:
        for path in json.loads(Path(task).read_text(encoding="utf-8")):
            begin = time.perf_counter()
            pages, error = [], ""
            try:
                pages = read(path)
            except Exception as raised:  # noqa: BLE001 - whatever a foreign reader raises is its result
                error = f"{type(raised).__name__}: {raised}"[:200]
            took = time.perf_counter() - begin
            out.write(json.dumps({"path": path, "pages": pages, "seconds": took, "error": error}) + "\n")
    sys.stdout.write(json.dumps({"peak_mb": peak_mb("self"), "cpu_s": sum(os.times()[:2])}))


if __name__ == "__main__":
    main()
