"""`GET /docs/search` (contract 3.16)."""

from typing import Annotated, ClassVar

from pydantic import Field

from service_core.access.models import Caller
from service_core.documentation.site import Documentation
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.schemas import Clamp, QueryModel, ResponseModel


class DocsSearchQuery(QueryModel):
    """Parameters of `GET /docs/search`."""

    needed: ClassVar = ("q",)
    q: str = Field(default="", description="Words to look for.")
    limit: Annotated[int, Clamp(1, 20)] = 5


class DocsSearchResult(ResponseModel):
    """A section of the documentation."""

    title: str = Field(description="Of the page.")
    section: str
    url: str
    excerpt: str
    score: float = Field(description="Higher is better; it means nothing beside that of another search.")


class DocsSearchResponse(ResponseModel):
    """Sections, the best first."""

    query: str
    results: list[DocsSearchResult]
    count: int


@operation("GET /docs/search", tag="docs")
async def search_docs(
    query: DocsSearchQuery,
    *,
    caller: Caller,  # noqa: ARG001 - everybody reads the same
    documentation: Documentation,
) -> DocsSearchResponse:
    """Sections of the documentation that hold all words of a text, or some where none holds all."""
    if not query.q.strip():
        raise BadRequest("q is required", "missing_query", field="q")
    results = [
        DocsSearchResult(
            title=found.page.title,
            section=found.section.title,
            url=documentation.page_url(found.page, found.section.anchor),
            excerpt=found.excerpt,
            score=found.score,
        )
        for found in documentation.search_index.search(query.q, query.limit)
    ]
    return DocsSearchResponse(query=query.q, results=results, count=len(results))


OPERATIONS = (search_docs,)
