"""Exports of ChatGPT, Claude, Notion, Obsidian and Markdown, brought into conversations and the vault.

Doors call `Imports`, the web through `ImportJobs`. A source is one file, whose `read` yields
`items`, and a row of `job.READERS`.
"""
