"""Programs that play others for tests and measurements: a model's server from a script, DIAL Core."""
