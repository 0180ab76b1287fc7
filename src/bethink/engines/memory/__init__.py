"""Everything in memory: for tests, for temporary apps, and as the reference of the ports' contracts."""
