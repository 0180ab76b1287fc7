"""The layers of `src/bethink` for import-linter; features stand in the list of features alone.

A layer may name FEATURES: the packages and modules that `bethink/features.py` imports from `bethink` itself,
where a feature has its row. Everything else is import-linter's own contract, exhaustive as it is.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from importlinter.contracts.layers import LayersContract

_LIST = Path(__file__).parents[1] / "src" / "bethink" / "features.py"
_PLACE = "FEATURES"


def features(source: str) -> list[str]:
    """The names of features that the text of the list imports."""
    return [
        name.name
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom) and node.module == "bethink"
        for name in node.names
    ]


class RoomsContract(LayersContract):
    """Layers, in which FEATURES stands for all features; none of them sees another."""

    def __init__(self, name: str, session_options: dict[str, Any], contract_options: dict[str, Any]) -> None:
        rooms = " | ".join(features(_LIST.read_text(encoding="utf-8")))
        layers = [layer.replace(_PLACE, rooms) for layer in contract_options["layers"]]
        super().__init__(name, session_options, {**contract_options, "layers": layers})
