"""Parameters of list reads that make the rows of an answer smaller."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, field_validator

from service_core.kernel.errors import BadRequest
from service_core.kernel.schemas import QueryModel


class RowSelection(QueryModel):
    """Parameters of a list read: which fields its rows have, and whether null ones are left out.

    ``row_list`` is the field of the answer that holds the rows.
    """

    row_list: ClassVar[str] = "rows"
    fields: tuple[str, ...] = Field(
        default=(), description="Fields of a row to return, a comma list; default all."
    )
    omit_nulls: bool = Field(default=False, description="Leave out the fields of a row that are null.")

    @field_validator("fields", mode="before")
    @classmethod
    def _split_comma_lists(cls, sent: Any) -> Any:
        texts = [sent] if isinstance(sent, str) else sent
        if not isinstance(texts, Sequence):
            return sent
        return tuple(name.strip() for text in texts for name in str(text).split(",") if name.strip())

    @property
    def selects_all(self) -> bool:
        """Whether rows stay as they are."""
        return not self.fields and not self.omit_nulls

    def select(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Returns an answer whose rows have the requested fields, in their order, without null ones if so requested.

        Raises:
            BadRequest: ``invalid_parameter``: no row has a field of the name.
        """
        rows = answer[self.row_list]
        unknown = [name for name in self.fields if rows and name not in rows[0]]
        if unknown:
            raise BadRequest(
                f"Rows have no field {unknown[0]!r:.80}",
                "invalid_parameter",
                field="fields",
                hint="Use the names of the fields of a row.",
                extra={"allowed": list(rows[0])},
            )
        return {**answer, self.row_list: [self._select_fields(row) for row in rows]}

    def _select_fields(self, row: Mapping[str, Any]) -> dict[str, Any]:
        names = self.fields or tuple(row)
        return {name: row[name] for name in names if not (self.omit_nulls and row[name] is None)}
