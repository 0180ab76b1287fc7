"""Who may see what of a page: the rules of an owner, applied to texts, names and links."""
