"""Storage engines: store, index and bus of one database each. Opened by `ports`."""
