"""What people upload, read: a file's text and tables, page by page, and the passages in it.

`recall/passages` keeps for a while what was read, and searches it; `tools/documents` shows it.
"""

from __future__ import annotations

from bethink.documents.reading import Extracted, Extraction

__all__ = ["Extracted", "Extraction"]
