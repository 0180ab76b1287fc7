"""The program that reads a file: a module of Bethink's, run on what its standard input holds. See `guest`."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from typing import Any

orders: dict[str, Any] = globals()["orders"]

# What a library has to complain of is no answer.
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
# By its own place: what lies beside it is nobody's to list.
_place = orders["own"]
_spec = importlib.util.spec_from_file_location(
    "bethink", f"{_place}/__init__.py", submodule_search_locations=[_place]
)
if _spec is not None and _spec.loader is not None:
    sys.modules["bethink"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["bethink"])
sys.argv = [*orders["command"]]
runpy.run_module(orders["command"][0], run_name="__main__", alter_sys=True)
