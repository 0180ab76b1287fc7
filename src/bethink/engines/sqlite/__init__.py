"""SQLite: store, index and bus in one data directory, for several processes on one machine."""
