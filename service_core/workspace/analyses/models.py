"""Stored analyses, and the reports embedded in their Markdown."""

import re
from collections.abc import Iterator
from typing import ClassVar, Final
from uuid import UUID

from pydantic import Field

from service_core.analytics.reads.query.schemas import SavedQuery
from service_core.changes.resource import Resource
from service_core.workspace.reports.models import SavedRange

_EMBED: Final = re.compile(r"^::report\[(.*)\][ \t]*\r?$", re.MULTILINE)


class Analysis(Resource):
    """A stored analysis; its name is called title in requests and answers."""

    resource_type: ClassVar[str] = "analysis"

    name: str = Field(alias="title")
    body_md: str
    plans: tuple[SavedQuery, ...]
    report_ids: tuple[UUID, ...]
    date_range: SavedRange | None


def embedded_report_ids(body_md: str) -> Iterator[str]:
    """Returns the report ids in the lines ``::report[<report_id>]`` of a body, in order."""
    return (match.group(1).strip() for match in _EMBED.finditer(body_md))


def split_at_embeds(body_md: str) -> Iterator[tuple[str, str | None]]:
    """Splits a body at its embeds into pairs of a text and the report id after it; None after the last text."""
    texts = iter(_EMBED.split(body_md))
    for text in texts:
        name = next(texts, None)
        yield text, None if name is None else name.strip()
