"""The field ``reason`` of errors of commerce endpoints."""

from service_core.kernel.errors import ApiError


def add_code_as_reason(error: ApiError) -> ApiError:
    """Returns the error, changed in place, with its code as the additional field ``reason``; one without a code as it is."""
    if error.code is not None:
        error.extra = {"reason": error.code, **error.extra}
    return error
