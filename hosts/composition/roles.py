"""The roles that the processes of a deployment can have."""

from enum import StrEnum


class Role(StrEnum):
    """Work of one process of a deployment."""

    API = "api"
    INGEST = "ingest"
    CONSUMER = "consumer"
    WORKER = "worker"
    SCHEDULER = "scheduler"
