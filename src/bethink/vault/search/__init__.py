"""Literal search and the graph: a catalogue of the pages, ranking, excerpts, links both ways."""
