"""Redis or Valkey: what processes tell one another (`bus`), and how the server is reached (`connection`)."""
