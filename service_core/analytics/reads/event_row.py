"""The event row as answers show it (contract 3.5), and how the API describes it.

Rows stay dictionaries: thousands are written for a page. What describes them is a model made of the
same columns, and it is made only for who asks for a description.
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
"""Form of `revenue` in an answer: in major units, where stores keep minor ones."""


class _EventRowSchema:
    """Gives lists of dictionaries the JSON schema of event rows; they are checked no more than without."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(core_schema.list_schema(_event_row_model().__pydantic_core_schema__))


EventRowList = Annotated[list[dict[str, Any]], _EventRowSchema]
"""Some rows, each with the columns of the wire in their order."""


def event_row(event: Event) -> dict[str, Any]:
    """An event as an answer shows it: the columns of the wire, money in major units."""
    row = {column: getattr(event, column) for column in WIRE_COLUMNS}
    if event.revenue is not None and event.currency is not None:
        row["revenue"] = float(to_major(event.revenue, event.currency))
    row["bot_reasons"] = list(event.bot_reasons)
    return row


@cache
def _event_row_model() -> type[BaseModel]:
    columns: dict[str, Any] = {
        f.name: (_AMOUNT_TYPE if f.name == "revenue" else f.type, Field(description=f.description))
        for f in COLUMNS[: len(WIRE_COLUMNS)]
    }
    return create_model(
        "EventRow", __base__=ResponseModel, __doc__="An event row; what is absent is null.", **columns
    )
