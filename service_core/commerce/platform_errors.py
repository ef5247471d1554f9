"""Errors of platforms: unavailable for now, or credentials rejected."""


class PlatformUnavailable(Exception):
    """The platform cannot be called now; the same request may work later. Its text is for people.

    Args:
        reason: what is wrong, in a sentence.
        retry_after: seconds to wait before the next request, if the platform names them.
        http_status: of its answer, when there was one.
    """

    def __init__(self, reason: str, retry_after: float | None = None, http_status: int | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.http_status = http_status


class CredentialsRejected(Exception):
    """The platform rejects the credentials: the account has to be connected again. The text is shown to people."""
