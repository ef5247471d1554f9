"""The side bar of a workspace: its sections and entries, those of them that a member may open, and the current one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from service_core.access.members.models import Member
from service_core.access.models import Workspace
from service_core.access.roles import ROLE_PERMISSIONS, Permission

WORKSPACE_ROUTE_PREFIX: Final = "GET /w/<public_id>"
"""Beginning of the route of every page of a workspace."""

_BOTTOM_BAR_PATHS: Final = ("", "/realtime", "/explore", "/reports")
"""Pages that narrow screens show beside the menu."""


class NavSection(StrEnum):
    """A heading of the side bar, in its order. The entries of ``SETTINGS`` are listed beside the settings pages."""

    OVERVIEW = "Overview"
    EXPLORE = "Explore"
    MONEY = "Money"
    SAVED = "Saved"
    ACT = "Act"
    SETTINGS = "Settings"


@dataclass(frozen=True, slots=True)
class NavEntry:
    """An entry of the side bar.

    Attributes:
        section: where the entry stands.
        label: its text.
        path: of its page below ``/w/<public_id>``; empty for the overview.
        permission: what a member needs to open the page.
    """

    section: NavSection
    label: str
    path: str
    permission: Permission = Permission.READ

    def contains_path(self, path: str) -> bool:
        """Whether a path below the workspace is the page of the entry or a page below it."""
        return path == self.path or (self.path != "" and path.startswith(f"{self.path}/"))


ENTRIES: Final = (
    NavEntry(NavSection.OVERVIEW, "Overview", ""),
    NavEntry(NavSection.OVERVIEW, "Realtime", "/realtime"),
    NavEntry(NavSection.OVERVIEW, "Get started", "/start"),
    NavEntry(NavSection.EXPLORE, "Explore", "/explore"),
    NavEntry(NavSection.EXPLORE, "Funnels", "/funnels"),
    NavEntry(NavSection.EXPLORE, "Paths", "/paths"),
    NavEntry(NavSection.EXPLORE, "Retention", "/retention"),
    NavEntry(NavSection.EXPLORE, "Experiments", "/experiments"),
    NavEntry(NavSection.EXPLORE, "Attribution", "/attribution"),
    NavEntry(NavSection.EXPLORE, "Events", "/events"),
    NavEntry(NavSection.EXPLORE, "People", "/people"),
    NavEntry(NavSection.EXPLORE, "Goals", "/goals"),
    NavEntry(NavSection.EXPLORE, "Crawlers", "/crawlers"),
    NavEntry(NavSection.MONEY, "Revenue", "/revenue"),
    NavEntry(NavSection.MONEY, "Subscriptions", "/subscriptions"),
    NavEntry(NavSection.MONEY, "Ads", "/ads"),
    NavEntry(NavSection.MONEY, "Profit", "/profit"),
    NavEntry(NavSection.SAVED, "Reports", "/reports"),
    NavEntry(NavSection.SAVED, "Dashboards", "/dashboards"),
    NavEntry(NavSection.SAVED, "Analyses", "/analyses"),
    NavEntry(NavSection.SAVED, "Segments", "/segments"),
    NavEntry(NavSection.SAVED, "Annotations", "/annotations"),
    NavEntry(NavSection.SAVED, "E-mails", "/email-reports"),
    NavEntry(NavSection.ACT, "Links", "/links"),
    NavEntry(NavSection.ACT, "Conversion rules", "/rules"),
    NavEntry(NavSection.ACT, "Alerts", "/alerts"),
    NavEntry(NavSection.ACT, "Webhooks", "/webhooks"),
    NavEntry(NavSection.SETTINGS, "General", "/settings/general"),
    NavEntry(NavSection.SETTINGS, "Connections", "/settings/connections"),
    NavEntry(NavSection.SETTINGS, "Sites and script", "/tracking"),
    NavEntry(NavSection.SETTINGS, "API keys", "/keys", Permission.MANAGE),
    NavEntry(NavSection.SETTINGS, "Members", "/members"),
    NavEntry(NavSection.SETTINGS, "Connected apps", "/connections"),
    NavEntry(NavSection.SETTINGS, "Public links", "/shared"),
    NavEntry(NavSection.SETTINGS, "Link domains", "/domains", Permission.MANAGE),
    NavEntry(NavSection.SETTINGS, "Scripts", "/scripts"),
    NavEntry(NavSection.SETTINGS, "Identity merges", "/identity", Permission.MANAGE),
    NavEntry(NavSection.SETTINGS, "Import", "/imports", Permission.MANAGE),
    NavEntry(NavSection.SETTINGS, "Audit", "/audit"),
    NavEntry(NavSection.SETTINGS, "Privacy", "/privacy", Permission.OWN),
)
"""Every entry. One whose page is not registered is not shown."""


@dataclass(frozen=True, slots=True)
class NavLink:
    """An entry as the side bar shows it.

    Attributes:
        label: its text.
        path: below the application's address.
        is_current: the present page belongs to it.
    """

    label: str
    path: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Navigation:
    """The side bar of one page.

    Attributes:
        sections: heading and links; the settings are left out.
        settings: the second-level list of the settings pages.
        in_settings: the present page is one of them.
        bottom_bar: the links that narrow screens show beside the menu.
        workspaces: the workspaces to switch between, sorted by name.
    """

    sections: Sequence[tuple[str, Sequence[NavLink]]]
    settings: Sequence[NavLink]
    in_settings: bool
    bottom_bar: Sequence[NavLink]
    workspaces: Sequence[Workspace]


def list_open_entries(entries: Sequence[NavEntry], routes: Collection[str], member: Member) -> list[NavEntry]:
    """Returns the entries whose pages are registered and open to the member."""
    return [
        entry
        for entry in entries
        if f"{WORKSPACE_ROUTE_PREFIX}{entry.path}" in routes
        and entry.permission in ROLE_PERMISSIONS[member.role]
    ]


def build_navigation(
    routes: Collection[str],
    member: Member,
    workspace: Workspace,
    memberships: Sequence[tuple[Workspace, Member]],
    current_path: str,
    *,
    entries: Sequence[NavEntry] = ENTRIES,
) -> Navigation:
    """Returns the side bar with the entries whose pages are registered and open to the member.

    Args:
        routes: method and path of all registered pages.
        member: who looks at the page.
        workspace: whose page it is.
        memberships: every workspace of the person.
        current_path: of the present page below ``/w/<public_id>``, without a query.
        entries: those of built-in pages, and those of plugins after them.
    """
    linked = [
        (
            entry,
            NavLink(
                entry.label,
                f"/w/{workspace.public_id}{entry.path}",
                is_current=entry.contains_path(current_path),
            ),
        )
        for entry in list_open_entries(entries, routes, member)
    ]
    links = {section: [link for entry, link in linked if entry.section is section] for section in NavSection}
    settings = links.pop(NavSection.SETTINGS)
    return Navigation(
        sections=[(section.value, found) for section, found in links.items() if found],
        settings=settings,
        in_settings=any(link.is_current for link in settings),
        bottom_bar=[link for entry, link in linked if entry.path in _BOTTOM_BAR_PATHS],
        workspaces=sorted((known for known, _ in memberships), key=lambda known: known.name.casefold()),
    )
