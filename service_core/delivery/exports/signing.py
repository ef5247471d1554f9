"""Signed download links: an HMAC over export id and expiry, with the workspace's secret.

The link names one file for an hour and holds no other credential. Nothing of it is stored. A link that a program got over
OAuth names its grant, too, and ends with it.
"""

import hashlib
import hmac
import re
from datetime import datetime
from typing import Final
from uuid import UUID

_PURPOSE: Final = b"export download"
_UNIX_TIME: Final = re.compile(r"[1-9][0-9]{0,11}", re.ASCII)


def sign_download(secret: bytes, export_id: UUID, expires: int, grant: str = "") -> str:
    """Returns the signature of a download link in hex.

    Args:
        secret: secret of the workspace; the key is derived from it, for this purpose alone.
        export_id: the job.
        expires: Unix time at which the link ends.
        grant: id of the OAuth grant whose end ends the link; empty for none.
    """
    bound = f".{grant}" if grant else ""
    key = hmac.digest(secret, _PURPOSE, hashlib.sha256)
    return hmac.digest(key, f"{export_id}.{expires}{bound}".encode(), hashlib.sha256).hex()


def is_download_link_valid(
    secret: bytes, export_id: UUID, expires_text: str, signature: str, now: datetime, *, grant: str = ""
) -> bool:
    """Returns whether the signature matches and the link has not expired; compared in constant time."""
    if not _UNIX_TIME.fullmatch(expires_text):
        return False
    wanted = sign_download(secret, export_id, int(expires_text), grant)
    is_same = hmac.compare_digest(wanted.encode(), signature.encode("utf-8", "replace"))
    return is_same and now.timestamp() < int(expires_text)
