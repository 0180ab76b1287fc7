"""Tasks: what the owner has to do, in parts, in order, on time.

Tools, the web door, the command line and calendars of other programs call `Tasks`.
"""

from __future__ import annotations

from bethink.tasks.records import TASKS, Task
from bethink.tasks.service import TaskChange, TaskPage, TaskQuery, Tasks, TaskView
from bethink.tasks.upkeep import FEATURE

__all__ = ["FEATURE", "TASKS", "Task", "TaskChange", "TaskPage", "TaskQuery", "TaskView", "Tasks"]
