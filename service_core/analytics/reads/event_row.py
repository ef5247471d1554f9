"""Event rows as answers show them, and their JSON schema.

Rows stay dictionaries, because a page holds thousands. The schema comes from a model with the same columns
that is built only when the schema is requested.
"""

from functools import cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, GetJsonSchemaHandler, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from service_core.ingestion.models import COLUMNS, WIRE_COLUMNS, Event
from service_core.kernel.money import to_major
from service_core.kernel.schemas import ResponseModel

_AMOUNT_TYPE: Final = float | None
"""Type of `revenue` in answers: major units; stores keep minor ones."""


class _EventRowSchema:
    """Gives lists of dictionaries the JSON schema of event rows, without validating them."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(core_schema.list_schema(_cached_event_row_model().__pydantic_core_schema__))


EventRowList = Annotated[list[dict[str, Any]], _EventRowSchema]
"""A list of event rows, each with the columns of the wire in their order."""


def build_event_row_in_major_units(event: Event) -> dict[str, Any]:
    """Returns an event as answers show it: the columns of the wire, money in major units."""
    row = {column: getattr(event, column) for column in WIRE_COLUMNS}
    if event.revenue is not None and event.currency is not None:
        row["revenue"] = float(to_major(event.revenue, event.currency))
    row["bot_reasons"] = list(event.bot_reasons)
    return row


@cache
def _cached_event_row_model() -> type[BaseModel]:
    columns: dict[str, Any] = {
        f.name: (_AMOUNT_TYPE if f.name == "revenue" else f.type, Field(description=f.description))
        for f in COLUMNS[: len(WIRE_COLUMNS)]
    }
    return create_model(
        "EventRow", __base__=ResponseModel, __doc__="An event row; what is absent is null.", **columns
    )
