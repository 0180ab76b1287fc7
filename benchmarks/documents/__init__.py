"""`bethink bench documents`: reading a mixed corpus of files, and finding in it what questions ask for."""
