"""Forgetting: select what is to be forgotten, remove it everywhere, return a receipt."""
