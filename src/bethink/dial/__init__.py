"""Bethink as an application of DIAL (https://dialx.ai), and what a DIAL application needs.

`web` mounts the door where the settings enable it. `core` speaks with DIAL
Core, `bucket_memory` with the memory file in a user's bucket, `door` answers
requests, `compat` has the names of spec 002. A stand-in for Core is in `benchmarks/stand_ins`.
"""
