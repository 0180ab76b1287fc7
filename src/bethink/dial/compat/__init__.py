"""The names of spec 002 ("API Reference"), so that tools and agents written for it run on Bethink.

They are thin: a `BaseTool` becomes a tool of Bethink's, `LongTermMemoryStore` is the
memory file of the user whose key is given, `GeneralPurposeAgent` is an app with these
tools alone. Needs the extra `dial`.
"""

from __future__ import annotations

from bethink.dial.compat.agent import GeneralPurposeAgent
from bethink.dial.compat.contract import BaseTool, FunctionCall, StageProcessor, ToolCall, ToolCallParams
from bethink.dial.compat.memory import (
    DeleteAllMemoriesTool,
    DeleteMemoryTool,
    LongTermMemoryStore,
    SearchMemoryTool,
    StoreMemoryTool,
)

__all__ = [
    "BaseTool",
    "DeleteAllMemoriesTool",
    "DeleteMemoryTool",
    "FunctionCall",
    "GeneralPurposeAgent",
    "LongTermMemoryStore",
    "SearchMemoryTool",
    "StageProcessor",
    "StoreMemoryTool",
    "ToolCall",
    "ToolCallParams",
]
