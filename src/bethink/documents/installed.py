"""What is not read for want of a package. `doctor` asks."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

_NEEDED: Final = (
    ("PDF files", ("pypdf",), "documents"),
    ("tables of PDF files", ("pdfplumber", "pypdfium2"), "documents"),
    ("DOCX files", ("docx",), "documents"),
    ("HTML files", ("trafilatura",), "web"),
)


def missing_readers() -> list[str]:
    """What is not read, and the extra that reads it. Looks on the disk."""
    found = {what: all(find_spec(name) is not None for name in names) for what, names, _ in _NEEDED}
    # With tables the text is read, too.
    found["PDF files"] = found["PDF files"] or found["tables of PDF files"]
    return [f"{what} (`pip install 'bethink[{extra}]'`)" for what, _, extra in _NEEDED if not found[what]]
