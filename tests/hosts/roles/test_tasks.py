"""One process that does everything does what processes apart do."""

import inspect
from typing import get_args

from hosts import single_process
from hosts.roles import process, tasks


def task_kinds(made):
    """Whether a function gives work to do, or several pieces of it."""
    if not inspect.isfunction(made) or made.__module__ != tasks.__name__:
        return False
    given = made.__annotations__["return"]
    return tasks.Work in (given, *get_args(given))


KINDS = {name for name, made in vars(tasks).items() if task_kinds(made)}


def names_used_by_functions(module):
    """The global names that the functions of a module use, those inside of others included."""
    pending = [
        made.__code__
        for made in vars(module).values()
        if inspect.isfunction(made) and made.__module__ == module.__name__
    ]
    names = set()
    while pending:
        code = pending.pop()
        names |= set(code.co_names)
        pending += [const for const in code.co_consts if inspect.iscode(const)]
    return names


def test_background_tasks_run_in_one_or_in_separate_processes():
    assert {"consume_task", "export_task", "scheduled_tasks", "postback_tasks"} <= KINDS
    for place in (single_process, process):
        assert KINDS - names_used_by_functions(place) == set(), place.__name__
