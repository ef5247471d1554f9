"""One process that does everything does what processes apart do."""

import inspect
from typing import get_args

from hosts import single_process
from hosts.roles import process, tasks


def works(made):
    """Whether a function gives work to do, or several pieces of it."""
    if not inspect.isfunction(made) or made.__module__ != tasks.__name__:
        return False
    given = made.__annotations__["return"]
    return tasks.Work in (given, *get_args(given))


KINDS = {name for name, made in vars(tasks).items() if works(made)}


def test_every_kind_of_work_is_done_by_one_process_and_by_processes_apart():
    assert {"consume_task", "export_task", "scheduled_tasks", "postback_tasks"} <= KINDS
    for place in (single_process, process):
        assert KINDS - vars(place).keys() == set(), place.__name__
