"""Parameters of list reads that make the rows of an answer smaller."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, Field, field_validator

from service_core.kernel.errors import BadRequest
from service_core.kernel.schemas import QueryModel


class RowSelection(QueryModel):
    """Parameters of a list read: which fields its rows have, and whether null ones are left out."""

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

    def select_fields_of_rows(self, answer: Mapping[str, Any], row_list: str) -> dict[str, Any]:
        """Returns an answer whose rows have the requested fields, in their order, without null ones if so requested.

        Args:
            answer: as JSON values.
            row_list: the field of the answer that holds the rows.

        Raises:
            BadRequest: ``invalid_parameter``: no row has a field of the name.
        """
        rows = answer[row_list]
        known = dict.fromkeys(name for row in rows for name in row) if self.fields else {}
        unknown = [name for name in self.fields if rows and name not in known]
        if unknown:
            raise BadRequest(
                f"Rows have no field {unknown[0]!r:.80}",
                "invalid_parameter",
                field="fields",
                hint="Use the names of the fields of a row.",
                extra={"allowed": list(known)},
            )
        return {**answer, row_list: [self._select_fields(row) for row in rows]}

    def _select_fields(self, row: Mapping[str, Any]) -> dict[str, Any]:
        names = self.fields or tuple(row)
        return {
            name: row[name] for name in names if name in row and not (self.omit_nulls and row[name] is None)
        }


@cache
def row_list_field_of_answer(path: str, answer: Any) -> str:
    """Returns the field of an answer that holds its rows: that of the path's last word, or the first list of objects.

    Args:
        path: of the operation, such as ``/alerts/{alertId}/deliveries``.
        answer: the answer model, or a union of models that have the same lists.
    """
    model = next(each for each in (answer, *get_args(answer)) if hasattr(each, "model_fields"))
    lists = [name for name, field in model.model_fields.items() if _is_list_of_objects(field.annotation)]
    named = path.rpartition("/")[2].replace("-", "_")
    return named if named in lists else lists[0]


def _is_list_of_objects(annotation: Any) -> bool:
    return get_origin(annotation) is list and any(map(_is_object, get_args(annotation)))


def _is_object(annotation: Any) -> bool:
    kind = get_origin(annotation) or annotation
    is_own = isinstance(kind, type) and issubclass(kind, BaseModel | dict)
    return is_own or any(map(_is_object, get_args(annotation)))
