"""What people read, read: a library that outlives conversations, in passages that recall finds by page.

`reading` takes files apart in a process of its own, which imports this package: it holds nothing else.
`library` keeps them and `ingest` has them read; `recall/passages` has those of conversations read.
"""
