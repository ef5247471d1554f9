"""An analysis (contract 5.7)."""

import re
from collections.abc import Iterator
from typing import ClassVar, Final
from uuid import UUID

from pydantic import Field

from service_core.changes.resource import Resource
from service_core.insight.query_plan import StoredPlan
from service_core.workspace.reports.model import SavedRange

_EMBED: Final = re.compile(r"^::report\[(.*)\][ \t]*\r?$", re.MULTILINE)


class Analysis(Resource):
    """An analysis as it is stored; what other resources call their name is its title."""

    resource_type: ClassVar[str] = "analysis"

    name: str = Field(alias="title")
    body_md: str
    plans: tuple[StoredPlan, ...]
    report_ids: tuple[UUID, ...]
    date_range: SavedRange | None


def embedded(body_md: str) -> Iterator[str]:
    """What the lines ``::report[<report_id>]`` of a body name, in order."""
    return (match.group(1).strip() for match in _EMBED.finditer(body_md))
