"""Checks whether a bucket can be reached, by reading an object that does not exist."""

import re
from datetime import timedelta
from typing import Any, Final

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError
from obstore.store import S3Store

from plugins.storage_s3.settings import S3Settings
from service_core.plugin import StartupError

TIMEOUT: Final = timedelta(seconds=5)
"""How long the store may take to answer."""

_ERROR_CODE: Final = re.compile(r"<Code>(\w+)</Code>")
_NO_BUCKET: Final = "NoSuchBucket"
_ACCESS_DENIED: Final = "AccessDenied"
"""Also the answer for a missing object when listing the bucket is not allowed, so it proves no mistake."""


async def require_reachable_bucket(settings: S3Settings, options: dict[str, Any]) -> None:
    """Requests an object that does not exist, and refuses any answer but "not found".

    Args:
        settings: the bucket.
        options: of the client, as the adapter has them.

    Raises:
        StartupError: it does not answer, or knows neither the bucket nor the key.
    """
    client = {**options["client_options"], "timeout": TIMEOUT, "connect_timeout": TIMEOUT}
    store = S3Store(
        settings.bucket,
        **{**options, "client_options": client},
        retry_config={"max_retries": 0, "retry_timeout": TIMEOUT},
    )
    try:
        await obstore.get_async(store, "touchpoint-check")
    except FileNotFoundError as fault:
        if _find_error_code(fault) == _NO_BUCKET:
            raise _bucket_startup_error(settings, _NO_BUCKET) from None
    except PermissionDeniedError as fault:
        if (code := _find_error_code(fault)) != _ACCESS_DENIED:
            raise _bucket_startup_error(settings, code or _error_text(fault)) from None
    except BaseError as fault:
        raise _bucket_startup_error(settings, _find_error_code(fault) or _error_text(fault)) from None


def _find_error_code(fault: Exception) -> str | None:
    """Returns the error code of the store, if there is one."""
    match = _ERROR_CODE.search(str(fault))
    return match and match[1]


def _error_text(fault: Exception) -> str:
    """Returns the message of the client without its notes for developers."""
    first = str(fault).partition("\n")[0].strip()
    return first.removeprefix("Generic S3 error: ")


def _bucket_startup_error(settings: S3Settings, reason: str) -> StartupError:
    given = "key and secret in the URL" if settings.user else "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    return StartupError(
        f"The bucket {settings.bucket} of exports.storage cannot be used: {reason}. See that it exists, and that region, "
        f"endpoint, {given} are right."
    )
