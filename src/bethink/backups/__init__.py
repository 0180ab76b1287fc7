"""Backups of everything: archives that share their parts, made while Bethink runs, and brought back."""
