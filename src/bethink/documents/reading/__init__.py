"""A file becomes pages of Markdown, in a process of its own with limits.

`extraction` starts that process; its program, `reader`, imports this package for each file: nothing is in it.
"""
