"""Recall: one question over everything remembered, each hit with its source."""
