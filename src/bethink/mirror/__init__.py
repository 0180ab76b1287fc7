"""One memory, two views: facts as lines of the vault's pages, and edits of those lines as changes of facts.

`app` wires it, `serve` and the command line have it follow what changes.
"""

from __future__ import annotations

from bethink.mirror.service import Mirror, MirrorReport

__all__ = ["Mirror", "MirrorReport"]
