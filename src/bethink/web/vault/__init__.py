"""`/vault`: each file has some of its routes, which `web` puts together."""
