"""Everything that is known, taken out as a file and brought back in.

The command line and the web door call `Portability`. A file that a Bethink
exported comes back as it was; what others wrote passes the gate of new facts.
"""
