"""What sees all memory: one recall over every kind that is kept."""
