"""A stand-in for DIAL Core, for tests and for trying the application without one. It is not DIAL Core.

It keeps what an application sees of it (https://github.com/epam/ai-dial-core at
8c78cb9): buckets, keys that die with their request, files with ETags,
listings, models, applications. It keeps all in memory, and leaves out: logins by
token, roles and limits, shared and published resources, encryption, moving and
copying, retries against other upstreams.
"""

from __future__ import annotations

from benchmarks.stand_ins.dial_core.deployments import Application, Model
from benchmarks.stand_ins.dial_core.faults import Fault
from benchmarks.stand_ins.dial_core.server import StandIn

__all__ = ["Application", "Fault", "Model", "StandIn"]
