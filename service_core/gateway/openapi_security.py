"""The credentials of routes, as OpenAPI security schemes (contract 2.2)."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.kernel.operations import Entry

_BEARERS: Final = {
    "key": "Agent key or named key, `dk_agent_…`.",
    "oauth": "OAuth access token, `oat_…`.",
    "signup": "Secret of the signup, `dl_signup_…`.",
}

SCHEMES: Final[Mapping[str, Any]] = {
    **{name: {"type": "http", "scheme": "bearer", "description": text} for name, text in _BEARERS.items()},
    "write_key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Service-API-Key",
        "description": "Write key, `dk_…`; `X-API-Key` is accepted too.",
    },
    "internal": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Internal-Token",
        "description": "The deployment's own token, `http.internal_token`.",
    },
}
"""Every way to identify oneself."""

OPENED_BY: Final[Mapping[Entry, tuple[str, ...]]] = {
    Entry.PUBLIC: (),
    Entry.KEY: ("key",),
    Entry.OAUTH: ("oauth",),
    Entry.KEY_OR_OAUTH: ("key", "oauth"),
    Entry.SIGNUP: ("signup",),
    Entry.FILER: ("key", "oauth", "signup"),
    Entry.WRITE_KEY: ("write_key",),
    Entry.INTERNAL: ("key",),
}
"""Entry -> the schemes any one of which opens it."""

BESIDE: Final[Mapping[Entry, tuple[str, ...]]] = {Entry.INTERNAL: ("internal",)}
"""Entry -> what has to be sent beside that."""
