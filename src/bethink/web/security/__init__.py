"""Who may send a request, and what it may be: `guard` stands before every route, the rest serves it."""
