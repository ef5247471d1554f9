"""The endpoint that searches the documentation."""

from typing import Annotated, ClassVar

from pydantic import Field

from service_core.access.models import Caller
from service_core.documentation.site import Documentation
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.schemas import Clamp, QueryModel, ResponseModel


class DocsSearchQuery(QueryModel):
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


@operation("GET /docs/search", tag="docs")
async def search_docs(
    query: DocsSearchQuery,
    *,
    caller: Caller,  # noqa: ARG001 - everybody reads the same
    documentation: Documentation,
) -> DocsSearchResponse:
    """Search the documentation: sections with all words of a text, or with some if none has all."""
    if not query.q.strip():
        raise BadRequest("q is required", "missing_query", field="q")
    results = [
        DocsSearchResult(
            title=match.page.title,
            section=match.section.title,
            url=documentation.page_url(match.page, match.section.anchor),
            excerpt=match.excerpt,
            score=match.score,
        )
        for match in documentation.search_index.search(query.q, query.limit)
    ]
    return DocsSearchResponse(query=query.q, results=results, count=len(results))


OPERATIONS = (search_docs,)
