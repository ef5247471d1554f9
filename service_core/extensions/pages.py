"""Pages of plugins: what a plugin declares of a page, and what the page may read."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

from service_core.kernel.errors import StartupError

_ID_PATTERN: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


class PageSection(StrEnum):
    """Heading of the menu under which a page of a plugin stands."""

    EXPLORE = "Explore"
    MONEY = "Money"
    SAVED = "Saved"
    ACT = "Act"


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The answer to a read of a page.

    Attributes:
        body: JSON values of the answer; empty if there is none.
        problem: why there is no answer, and what to do, as a sentence for people; None if there is one.
    """

    body: Mapping[str, Any]
    problem: str | None = None


class PageApi(Protocol):
    """Reads of the API in the name of the person who looks at the page, within their role and their request limit."""

    async def get(self, path: str, **parameters: str) -> PageAnswer:
        """Returns the answer of a read below ``/v1``, such as ``/overview``; empty parameters are not sent."""

    async def query(self, body: Mapping[str, Any]) -> PageAnswer:
        """Returns the answer of ``POST /query``."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a page.

    Attributes:
        api: reads what the page shows.
        parameters: query parameters of the address; the first value of each.
    """

    api: PageApi
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class WebPage:
    """A page of the web application, at ``/app/w/WORKSPACE/pages/ID``.

    Attributes:
        id: lower case, of letters, digits and underscores; unique among all plugins.
        label: text of its menu entry.
        section: heading of the menu entry.
        folder: has ``templates/`` with its Jinja templates, and ``static/`` with style sheets, scripts and SVG images
            if it has any.
        template: file name of the template in it, NAME.html. It extends ``workspace_layout.html``, finds the result of ``load`` in
            ``values``, the address of its static files in ``static``, and includes others of its own as ``ID/NAME``.
        load: reads what the page shows. It changes nothing.
    """

    id: str
    label: str
    section: PageSection
    folder: Path
    template: str
    load: Callable[[PageRequest], Awaitable[Mapping[str, Any]]]

    def __post_init__(self) -> None:
        """Checks the id and that the template exists and is HTML: in others, values are not escaped.

        Raises:
            StartupError: the id is malformed, or there is no such template.
        """
        if not _ID_PATTERN.fullmatch(self.id):
            raise StartupError(
                f"The page id {self.id!r} is not of lower case letters, digits and underscores."
            )
        if not self.template.endswith(".html"):
            raise StartupError(
                f"The template {self.template!r} of the page {self.id!r} is not named NAME.html."
            )
        if not (self.template_folder / self.template).is_file():
            raise StartupError(
                f"The page {self.id!r} has no template {self.template_folder / self.template}."
            )

    @property
    def template_folder(self) -> Path:
        """The folder of its templates."""
        return self.folder / "templates"

    @property
    def path(self) -> str:
        """Its path below the pages of a workspace."""
        return f"/pages/{self.id}"
