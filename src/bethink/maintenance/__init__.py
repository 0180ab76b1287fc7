"""Work behind the scenes: missing vectors, retention, housekeeping, health, statistics. Opened by `app`."""
