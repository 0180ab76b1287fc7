"""PostgreSQL: store and index in one database, for several machines."""
