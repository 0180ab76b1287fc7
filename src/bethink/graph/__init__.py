"""The graph of all that recall sees: passages in their documents, facts, pages, and the names they share."""
