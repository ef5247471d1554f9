"""Whether a bucket can be reached, found out by reading an object that is not there: nothing is written."""

import re
from datetime import timedelta
from typing import Any, Final

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError
from obstore.store import S3Store

from plugins.sink_s3.settings import S3Settings
from service_core.plugin import StartupError

PATIENCE: Final = timedelta(seconds=5)
"""How long the store may take to answer."""

_CODE: Final = re.compile(r"<Code>(\w+)</Code>")
_NO_BUCKET: Final = "NoSuchBucket"
_HIDDEN: Final = "AccessDenied"
"""Also said of an object that is not there, to whoever may not list the bucket: no mistake can be seen in it."""


async def reach(settings: S3Settings, options: dict[str, Any]) -> None:
    """Ask the store for an object that is not there.

    Args:
        settings: the bucket.
        options: of the client, as the sink has them.

    Raises:
        StartupError: it does not answer, or knows neither the bucket nor the key.
    """
    client = {**options["client_options"], "timeout": PATIENCE, "connect_timeout": PATIENCE}
    asked = S3Store(
        settings.bucket,
        **{**options, "client_options": client},
        retry_config={"max_retries": 0, "retry_timeout": PATIENCE},
    )
    try:
        await obstore.get_async(asked, "touchpoint-check")
    except FileNotFoundError as fault:
        if _code(fault) == _NO_BUCKET:
            raise _complaint(settings, _NO_BUCKET) from None
    except PermissionDeniedError as fault:
        if (code := _code(fault)) != _HIDDEN:
            raise _complaint(settings, code or _words(fault)) from None
    except BaseError as fault:
        raise _complaint(settings, _code(fault) or _words(fault)) from None


def _code(fault: Exception) -> str | None:
    """What the store calls the mistake, if it says."""
    said = _CODE.search(str(fault))
    return said and said[1]


def _words(fault: Exception) -> str:
    """What the client says, without its notes for developers."""
    first = str(fault).partition("\n")[0].strip()
    return first.removeprefix("Generic S3 error: ")


def _complaint(settings: S3Settings, reason: str) -> StartupError:
    given = "key and secret in the URL" if settings.user else "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    return StartupError(
        f"The bucket {settings.bucket} of exports.sink cannot be used: {reason}. See that it exists, and that region, "
        f"endpoint, {given} are right."
    )
