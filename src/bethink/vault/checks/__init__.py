"""What is wrong in a vault, and the repairs for it."""
