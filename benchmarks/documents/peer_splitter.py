"""LlamaIndex's splitter, by its own Python: texts as JSON to standard input, their pieces to standard output.

`retrieval` starts it. It imports nothing of Bethink, which is not installed there.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def main() -> None:
    """Cut all texts as `SentenceSplitter()` does of itself."""
    parser: Any = importlib.import_module("llama_index.core.node_parser")
    splitter = parser.SentenceSplitter()
    pieces = [splitter.split_text(text) for text in json.load(sys.stdin)]
    sys.stdout.write("\n" + json.dumps(pieces) + "\n")


if __name__ == "__main__":
    main()
