"""What runs in a horse: always the one function a worker was started with, whatever the queue says."""

import os
from collections.abc import Callable
from typing import Any, Final

from rq.job import Job
from rq.utils import import_attribute

ENTRY_VARIABLE: Final = "TOUCHPOINT_WORKER_ENTRY"
"""Environment variable with the dotted name of the function that does one free job."""


class WakeJob(Job):
    """A job of the queue. It holds the id of an export and no code."""

    @property
    def func(self) -> Callable[..., Any]:
        """`run`, also when somebody wrote another name into the queue."""
        return run_named_function


def run_named_function(export_id: str) -> None:  # noqa: ARG001 - a worker takes the oldest free job, whoever woke it
    """Do one free job, with the function that the worker named."""
    import_attribute(os.environ[ENTRY_VARIABLE])()
