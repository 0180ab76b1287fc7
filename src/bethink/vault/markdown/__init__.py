"""Markdown as the vault reads and edits it: lines, front matter, links, and edits of single bytes."""
