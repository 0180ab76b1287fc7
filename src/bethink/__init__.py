"""Bethink: a self-hosted agent that remembers.

For programs that embed it: `bethink.open_app` and `bethink.Settings`, loaded
when they are first asked for, so that importing the package costs nothing.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bethink.app import open_app
    from bethink.settings import Settings

__all__ = ["Settings", "__version__", "open_app"]
__version__ = "0.1.0"

# Bethink sends nothing of itself, and this is set before anything else of it can be imported: ONNX Runtime
# and the Hugging Face libraries read these when they are imported. Processes that it starts inherit them.
# Sources: onnxruntime, docs/Privacy.md; huggingface_hub, "Environment variables"; consoledonottrack.com.
os.environ.update(ORT_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_TELEMETRY="1", DO_NOT_TRACK="1")

_HOMES = {"open_app": "bethink.app", "Settings": "bethink.settings"}


def __getattr__(name: str) -> object:
    if home := _HOMES.get(name):
        return getattr(import_module(home), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
