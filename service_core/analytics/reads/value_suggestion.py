"""A value that a request may have meant."""

from service_core.kernel.schemas import ResponseModel


class ValueSuggestion(ResponseModel):
    """A value of a request without data or with a near duplicate, and a similar value."""

    dimension: str
    value: str
    suggestion: str
