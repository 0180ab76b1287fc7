"""`python -m bethink`: the same as the command `bethink`."""

from __future__ import annotations

import sys

from bethink.cli import main

if __name__ == "__main__":
    sys.exit(main())
