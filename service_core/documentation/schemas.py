"""Request and response models of the documentation search."""

from typing import Annotated, ClassVar

from pydantic import Field

from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel


class DocsSearchQuery(RowSelection):
    """Parameters of `GET /docs/search`."""

    required_params: ClassVar = ("q",)
    q: str = Field(default="", description="Words to search for.")
    limit: Annotated[int, Clamp(1, 20)] = 5


class DocsSearchResult(ResponseModel):
    """A section of the documentation."""

    title: str = Field(description="Title of the page.")
    section: str
    url: str
    excerpt: str
    score: float = Field(description="Higher is better; not comparable between searches.")


class DocsSearchResponse(ResponseModel):
    """Sections, the best first."""

    query: str
    results: list[DocsSearchResult]
    count: int
