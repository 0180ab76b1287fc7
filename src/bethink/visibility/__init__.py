"""Who may see what: the reader's filter, applied wherever text leaves."""
