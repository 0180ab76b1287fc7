"""Bethink: a self-hosted agent that remembers."""

__version__ = "0.1.0"
