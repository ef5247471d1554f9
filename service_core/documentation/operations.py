"""The endpoint that searches the documentation."""

from service_core.access.models import Caller
from service_core.documentation.schemas import DocsSearchQuery, DocsSearchResponse, DocsSearchResult
from service_core.documentation.search import API_READER_WEIGHTS
from service_core.documentation.site import Documentation
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation


@operation("GET /docs/search", tag="docs", tool_title="Search documentation", is_aggregate=True)
async def search_docs(
    query: DocsSearchQuery,
    *,
    caller: Caller,  # noqa: ARG001 - everybody reads the same
    documentation: Documentation,
) -> DocsSearchResponse:
    """Search the documentation: sections with all words of a text, or with some if none has all.

    Pages for users of the API and of the web application come before those for operators and developers.
    """
    if not query.q.strip():
        raise BadRequest("q is required", "missing_query", field="q")
    found = documentation.search_index.search_all_words_else_any(query.q, query.limit, API_READER_WEIGHTS)
    results = [
        DocsSearchResult(
            title=match.page.title,
            section=match.section.title,
            url=documentation.page_url(match.page, match.section.anchor),
            excerpt=match.excerpt,
            score=match.score,
        )
        for match in found
    ]
    return DocsSearchResponse(query=query.q, results=results, count=len(results))


OPERATIONS = (search_docs,)
