"""A file becomes pages of Markdown, in a process of its own with limits. `recall/passages` asks."""

from __future__ import annotations

from bethink.documents.reading.extraction import Extraction
from bethink.documents.reading.messages import Extracted

__all__ = ["Extracted", "Extraction"]
