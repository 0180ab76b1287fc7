"""Time in words: `ranges` finds the stretches of time that a text mentions, `moments` reads one exactly."""
