"""The worker: waits for jobs, and runs each in a new process.

The process of a job ("work horse" in RQ) is spawned, never forked: data frames that were used before a fork hang
after it. The server's address is passed by the environment, because other users can read command lines.
"""

import logging
import os
import sys
from typing import Any, Final

from rq.executions import Execution
from rq.job import Job
from rq.queue import Queue
from rq.worker import SpawnWorker

from plugins.jobs_rq.job import ENTRY_VARIABLE, WakeJob
from plugins.jobs_rq.server import SERIALIZER, connect_without_retries, open_queue
from plugins.jobs_rq.settings import RqSettings

MAINTENANCE_SECONDS: Final = 15
QUEUE_URL_VARIABLE: Final = "TOUCHPOINT_WORKER_QUEUE"
"""Environment variable with the settings of the queue, for the process of a job."""

_log: Final = logging.getLogger("touchpoint.jobs")


class ExportSpawnWorker(SpawnWorker):
    """RQ's spawning worker with our own job process."""

    job_class = WakeJob

    def fork_work_horse(self, job: Job, queue: Queue) -> None:  # noqa: ARG002 - RQ's signature
        """Starts the process of a job."""
        assert self.execution is not None
        environment = {**os.environ, "RQ_WORKER_ID": self.name, "RQ_EXECUTION_ID": self.execution.id}
        command = [sys.executable, "-m", "plugins.jobs_rq.worker", self.key, job.id]
        # Its output is not the worker's: whoever reads that waits for the end of the worker alone.
        self._horse_pid = os.posix_spawn(
            sys.executable,
            command,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, 2, 1),
            ],
            setpgroup=0,
        )

    def handle_exception(self, job: Job, *exc_info: Any) -> None:
        """Logs the type of the error that ended a job; its message may hold secrets or personal data."""
        kind: type[BaseException] = exc_info[0]
        _log.error("job %s ended with %s", job.id, kind.__name__)

    def handle_job_failure(
        self, job: Job, queue: Queue, started_job_registry: Any = None, exc_string: str = ""
    ) -> None:
        """Records the failure in the queue without the message of the error."""
        error_type_name = exc_string.strip().rpartition("\n")[2].partition(":")[0]
        super().handle_job_failure(job, queue, started_job_registry, error_type_name)


def run_worker_until_stopped(settings: RqSettings, job_function_name: str) -> None:
    """Runs jobs until SIGTERM or SIGINT; sets the environment variables that the processes of jobs read.

    Args:
        settings: the queue.
        job_function_name: dotted name of the function that does one free job, in the process of each job.
    """
    os.environ[ENTRY_VARIABLE] = job_function_name
    os.environ[QUEUE_URL_VARIABLE] = settings.model_dump_json()
    redis = connect_without_retries(settings)
    worker = ExportSpawnWorker(
        [open_queue(settings, redis)],
        connection=redis,
        serializer=SERIALIZER,
        maintenance_interval=MAINTENANCE_SECONDS,
        log_job_description=False,
        disable_default_exception_handler=True,
    )
    worker.work(logging_level="WARNING")


def run_one_job_and_exit(worker_key: str, job_id: str) -> None:
    """Runs one job as a process of its own; never returns."""
    redis = connect_without_retries(RqSettings.model_validate_json(os.environ[QUEUE_URL_VARIABLE]))
    worker = ExportSpawnWorker.find_by_key(
        worker_key, connection=redis, job_class=WakeJob, serializer=SERIALIZER
    )
    if worker is None:
        sys.exit(1)
    job = WakeJob.fetch(job_id, connection=redis, serializer=worker.serializer)
    worker.execution = Execution.fetch(os.environ["RQ_EXECUTION_ID"], job_id, connection=redis)
    worker.main_work_horse(job, Queue(job.origin, connection=redis, serializer=SERIALIZER, job_class=WakeJob))


if __name__ == "__main__":
    run_one_job_and_exit(*sys.argv[1:])
