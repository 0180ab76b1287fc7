"""Ranking shared by all engines: text analysis, lexical and dense scores over columns of candidates."""
