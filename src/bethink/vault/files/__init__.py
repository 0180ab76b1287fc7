"""The files of a vault and what is stored about them: paths, folder, versions, commits, synchronisation."""
