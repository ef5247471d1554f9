"""Settings of the URL: ``inline://?workers=2``."""

from typing import Annotated

from pydantic import Field

from service_core.plugin import AdapterSettings


class InlineSettings(AdapterSettings):
    """How the serving process runs jobs.

    Attributes:
        workers: jobs done at the same time.
        rescan_seconds: how often jobs are looked for unasked: those of a worker that died.
    """

    workers: Annotated[int, Field(ge=1, le=16)] = 1
    rescan_seconds: Annotated[float, Field(gt=0, le=60)] = 5
