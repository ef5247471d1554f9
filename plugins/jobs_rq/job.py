"""The code of a job process: the one function its worker was started with, whatever the queue says."""

import os
from collections.abc import Callable
from typing import Any, Final

from rq.job import Job
from rq.utils import import_attribute

ENTRY_VARIABLE: Final = "TOUCHPOINT_WORKER_ENTRY"
"""Environment variable with the dotted name of the function that does one free job."""


class WakeJob(Job):
    """A job of the queue: the id of an export, and no code."""

    @property
    def func(self) -> Callable[..., Any]:
        """Returns `run_named_function`, whatever name the queue has."""
        return run_named_function


def run_named_function(export_id: str) -> None:  # noqa: ARG001 - a worker takes the oldest free job, whichever was announced
    """Runs one queued job with the function that the worker named."""
    import_attribute(os.environ[ENTRY_VARIABLE])()
