"""`python -m bethink.documents.reading TASK < FILE`: see `reader`, which is imported once for many files."""

from __future__ import annotations

from bethink.documents.reading.reader import main

main()
