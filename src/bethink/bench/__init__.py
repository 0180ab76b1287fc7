"""What `bethink bench` measures, a module a subject. Figures, never assertions."""

from __future__ import annotations
