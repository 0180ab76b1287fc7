"""What the model may do: one file a family, each giving its tools to `app`."""
