"""The roles that the processes of a deployment can have."""

from enum import StrEnum


class Role(StrEnum):
    """What one process of a deployment does."""

    API = "api"
    INGEST = "ingest"
    CONSUMER = "consumer"
    WORKER = "worker"
    SCHEDULER = "scheduler"
