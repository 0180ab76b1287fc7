"""The agent: one loop, the runs of it, what the model sees, what it may do."""
