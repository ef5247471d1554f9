"""The published libraries that are run, and the events that each is told to send."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PYTHON_PINS = FOLDER.parents[1] / "requirements" / "vendor-libraries.txt"
NODE, BROWSER, REACT_NATIVE, PYTHON = "node", "browser", "react_native", "python"


@dataclass(frozen=True, eq=False)
class Library:
    """A published library and its program.

    Attributes:
        name: of the program, its recording and its workspace.
        package: as its registry names it.
        kind: where it runs: Node, Chromium, Node with the native side of React Native as a stub, or Python.
        product: whose wire format it sends.
        events: the columns of each event that the program tells it to send.
        revenue: in EUR.
        orders: number of paid orders.
        people: number of persons that the events are of.
        is_public: whether it names the public id of the workspace, and not its write key.
    """

    name: str
    package: str
    kind: str
    product: str
    events: tuple[dict[str, Any], ...]
    revenue: float = 49.9
    orders: int = 1
    people: int = 1

    @property
    def is_public(self):
        return self.kind == BROWSER

    @property
    def program(self):
        return next((FOLDER / self.kind).glob(f"{self.name.removeprefix(self.kind + '_')}.*"))


def pinned_version(library):
    """Returns the version that the pins name."""
    if library.package in PACKED:
        return PACKED[library.package][0]
    if library.kind == PYTHON:
        return re.search(rf"^{library.package}==(\S+)", PYTHON_PINS.read_text(), re.MULTILINE)[1]
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    return lock["packages"][f"node_modules/{library.package}"]["version"]


PACKED = {
    "umami": (
        "2.10.0",
        "sha512-+lmrnV0751R6U2rkIgVAlE1nWI7yZawlMlJDguW9tlFacCKhnGeCyc7tCMIhNNYIiGIQy4DEX5IzJhm4b3+dPA==",
    )
}
"""Packages of which only the tracker is used: version and digest of the package, which is unpacked without what it needs."""

PAGE = {
    "page_url": "https://shop.example/sale?utm_source=news", "page_path": "/sale", "utm_source": "news",
    "referrer_host": "google.com",
}  # fmt: skip
BROWSER_PAGE = {
    "page_url": "http://shop.example/sale?utm_source=news&utm_medium=email&utm_campaign=july",
    "page_path": "/sale", "utm_source": "news", "utm_medium": "email", "utm_campaign": "july", "source": "web",
    "referrer_host": "google.com", "browser": "Chrome", "os": "Linux", "device_type": "desktop", "is_bot": False,
}  # fmt: skip
SIGNUP = {"plan": "pro", "seats": 3}
ORDER = {"revenue": 49.9, "currency": "EUR", "order_id": "order-1"}
TRAITS = {"traits": {"email": "ada@example.com"}}


def event(name, data=None, **columns):
    return {"event_name": name, **columns} | ({"event_data": data} if data else {})


def segment_server(page=PAGE, **columns):
    return (
        event("page_view", {"name": "Sale"}, anonymous_id="device-1", **page),
        event("Signup Started", SIGNUP, anonymous_id="device-1"),
        event("$identify", TRAITS, user_id="user-7"),
        event("$group", {"group_id": "team-1"}, user_id="user-7"),
        event("$alias", user_id="user-7"),
        event("order_completed", user_id="user-7", is_backdated=True, **ORDER),
    )


def posthog_events(*automatic, identified="user_id", **columns):
    return (
        *automatic,
        event("Signup Started", SIGNUP),
        event("$identify", TRAITS, **{identified: "user-7"}),
        event("$group", {"group_id": "team-1"}),
        event("$alias"),
        event("purchase", **columns, **ORDER),
    )


def snowplow_server(order):
    return (
        event("page_view", page_title="Sale", anonymous_id="device-1", user_id="user-7", **PAGE),
        event("signup_started", SIGNUP, user_id="user-7"),
        event("play", {"category": "video", "label": "intro", "property": "full", "event_value": "7"}),
        order,
    )


BROWSER_VIEW = event("page_view", page_title="Sale & more", **BROWSER_PAGE)
LIBRARIES = (
    Library("node_segment", "@segment/analytics-node", NODE, "segment", segment_server()),
    Library("python_segment_client", "segment-analytics-python", PYTHON, "segment", segment_server()),
    Library("node_rudderstack", "@rudderstack/rudder-sdk-node", NODE, "segment", segment_server()),
    Library("python_rudderstack_client", "rudder-sdk-python", PYTHON, "segment", segment_server()),
    Library(
        "browser_segment",
        "@segment/analytics-next",
        BROWSER,
        "segment",
        (
            BROWSER_VIEW,
            event("Signup Started", SIGNUP),
            event("$identify", TRAITS, user_id="user-7"),
            event("$group", {"group_id": "team-1"}),
            event("$alias", user_id="user-7"),
            event("order_completed", user_id="user-7", **ORDER),
        ),
    ),
    Library(
        "browser_rudderstack",
        "@rudderstack/analytics-js",
        BROWSER,
        "segment",
        (
            BROWSER_VIEW,
            event("Signup Started", SIGNUP),
            event("$identify", TRAITS, user_id="user-7"),
            event("$group", {"group_id": "team-1"}),
            event("$alias", user_id="user-7"),
            event("order_completed", user_id="user-7", **ORDER),
        ),
    ),
    Library(
        "node_posthog",
        "posthog-node",
        NODE,
        "posthog",
        posthog_events(event("$pageview", **PAGE), is_backdated=True),
    ),
    Library(
        "python_posthog_client",
        "posthog",
        PYTHON,
        "posthog",
        posthog_events(event("$pageview", **PAGE), identified="distinct_id", is_backdated=True),
    ),
    Library(
        "browser_posthog",
        "posthog-js",
        BROWSER,
        "posthog",
        posthog_events(event("$pageview", page_title="Sale & more", **BROWSER_PAGE), event("$pageleave")),
    ),
    Library(
        "browser_posthog_lite",
        "posthog-js-lite",
        BROWSER,
        "posthog",
        posthog_events(event("$pageview", **BROWSER_PAGE)),
    ),
    Library(
        "react_native_posthog",
        "posthog-react-native",
        REACT_NATIVE,
        "posthog",
        posthog_events(event("screen_view")),
    ),
    Library(
        "node_mixpanel",
        "mixpanel",
        NODE,
        "mixpanel",
        (
            event("Page Viewed", distinct_id="device-1", **PAGE),
            event("Signup Started", SIGNUP),
            event("$identify", TRAITS, user_id="user-7"),
            event("$identify"),
            event("$alias"),
            event("purchase", is_backdated=True, **ORDER),
            event("Review Written", {"stars": 5}),
        ),
    ),
    Library(
        "python_mixpanel_client",
        "mixpanel",
        PYTHON,
        "mixpanel",
        (
            event("Page Viewed", distinct_id="device-1", **PAGE),
            event("Signup Started", SIGNUP),
            event("$identify", TRAITS, user_id="user-7"),
            event("$identify"),
            event("purchase", is_backdated=True, **ORDER),
        ),
    ),
    Library(
        "browser_mixpanel",
        "mixpanel-browser",
        BROWSER,
        "mixpanel",
        (
            BROWSER_VIEW,
            event("Signup Started", SIGNUP),
            event("$identify", TRAITS, user_id="user-7"),
            event("$identify", user_id="user-7"),
            event("$identify"),
            event("$identify"),
            event("$identify"),
            event("$identify"),
            event("$alias"),
            event("purchase", **ORDER),
        ),
    ),
    Library(
        "react_native_mixpanel",
        "mixpanel-react-native",
        REACT_NATIVE,
        "mixpanel",
        (
            event("Signup Started", SIGNUP),
            event("$identify"),
            event("$identify", TRAITS, user_id="user-7"),
            event("purchase", **ORDER),
        ),
    ),
    Library(
        "browser_plausible",
        "@plausible-analytics/tracker",
        BROWSER,
        "plausible",
        (
            event("pageview", **BROWSER_PAGE),
            event("Signup Started", {"plan": "pro"}),
            event("Purchase", **ORDER),
            event("engagement", {"scroll_depth": 100}),
        ),
        orders=0,
    ),
    Library(
        "browser_plausible_tracker",
        "plausible-tracker",
        BROWSER,
        "plausible",
        (
            event("pageview", **BROWSER_PAGE),
            event("Signup Started", SIGNUP),
            event("Purchase", order_id="order-1", revenue=None),
        ),
        revenue=0,
        orders=0,
    ),
    Library(
        "browser_umami",
        "umami",
        BROWSER,
        "umami",
        (
            event("page_view", page_title="Sale & more", **BROWSER_PAGE),
            event("Signup Started", SIGNUP),
            event("$identify", TRAITS),
            event("purchase", **ORDER),
        ),
    ),
    Library(
        "node_umami",
        "@umami/node",
        NODE,
        "umami",
        (
            event("page_view", page_title="Sale", language="en-GB", **PAGE),
            event("Signup Started", SIGNUP),
            event("$identify", TRAITS),
            event("purchase", **ORDER),
            event("Review Written", {"stars": 5}),
        ),
    ),
    Library(
        "python_umami_client",
        "umami-analytics",
        PYTHON,
        "umami",
        (
            event("page_view", page_title="Sale", user_id="user-7", **PAGE),
            event("Signup Started", SIGNUP, user_id="user-7"),
            event("purchase", **ORDER),
        ),
    ),
    Library(
        "python_ga4_client",
        "ga4mp",
        PYTHON,
        "ga4",
        (
            event("page_view", page_title="Sale", anonymous_id="1.2", **PAGE),
            event("signup_started", SIGNUP),
            event("tutorial_begin"),
            event("purchase", is_backdated=True, **ORDER),
            event("review_written", {"stars": 5}),
        ),
    ),
    Library(
        "browser_ga4mp",
        "@analytics-debugger/ga4mp",
        BROWSER,
        "ga4",
        (BROWSER_VIEW, event("signup_started", SIGNUP), event("purchase", **ORDER)),
    ),
    Library(
        "browser_minimal_ga4",
        "@minimal-analytics/ga4",
        BROWSER,
        "ga4",
        (BROWSER_VIEW, event("signup_started", SIGNUP), event("purchase", **ORDER), event("user_engagement")),
    ),
    Library(
        "node_snowplow",
        "@snowplow/node-tracker",
        NODE,
        "snowplow",
        snowplow_server(event("purchase", {"tax": "8"}, is_backdated=True, **ORDER)),
    ),
    Library(
        "python_snowplow_client",
        "snowplow-tracker",
        PYTHON,
        "snowplow",
        snowplow_server(event("purchase", is_backdated=True, **ORDER)),
    ),
    Library(
        "browser_snowplow",
        "@snowplow/browser-tracker",
        BROWSER,
        "snowplow",
        (
            BROWSER_VIEW,
            event("signup_started", SIGNUP),
            event("play", {"category": "video"}, user_id="user-7"),
            event("purchase", {"tax": 8}, **ORDER),
            event("add_to_cart"),
            event("refund", revenue=-9.9, order_id="order-1"),
        ),
    ),
    Library(
        "node_matomo",
        "matomo-tracker",
        NODE,
        "matomo",
        (
            event("page_view", page_title="Sale", user_id="user-7", anonymous_id="0123456789abcdef", **PAGE),
            event("Signup Started", {"category": "form", "label": "pro"}, user_id="user-7"),
            event("purchase", is_backdated=True, user_id="user-7", **ORDER),
        ),
    ),
    Library(
        "python_matomo_client",
        "matomopy",
        PYTHON,
        "matomo",
        (
            event("page_view", page_title="Sale", user_id="user-7", anonymous_id="0123456789abcdef", **PAGE),
            event("Signup Started", {"category": "form", "label": "pro"}, user_id="user-7"),
            event("purchase", is_backdated=True, user_id="user-7", **ORDER),
        ),
    ),
    Library(
        "react_native_segment",
        "@segment/analytics-react-native",
        REACT_NATIVE,
        "segment",
        (
            event("screen_view", {"name": "Sale", "section": "mugs"}),
            event("Signup Started", SIGNUP),
            event("$identify", TRAITS, user_id="user-7"),
            event("$group", {"group_id": "team-1"}, user_id="user-7"),
            event("$alias", user_id="user-8"),
            event("order_completed", **ORDER),
        ),
    ),
    Library(
        "react_native_snowplow",
        "@snowplow/react-native-tracker",
        REACT_NATIVE,
        "snowplow",
        (
            event("page_view", page_title="Sale", user_id="user-7", **PAGE),
            event("screen_view", {"name": "Sale"}, user_id="user-7"),
            event("signup_started", SIGNUP),
            event("play", {"category": "video"}),
            event("purchase", **ORDER),
        ),
    ),
    Library(
        "react_native_matomo",
        "matomo-tracker-react-native",
        REACT_NATIVE,
        "matomo",
        (
            event("page_view", page_title="Screen / Sale", user_id="user-7", page_url=None, page_path=None),
            event(
                "Signup Started",
                {"category": "form", "label": "pro"},
                page_url="https://shop.example/sale",
                utm_campaign="july",
                user_id="user-7",
            ),
            event("search", {"search_term": "mugs", "search_category": "cups"}, page_url=None),
            event("purchase", {"tax": "8"}, user_id="user-7", **ORDER),
        ),
    ),
    Library(
        "react_native_datalyr",
        "@datalyr/react-native",
        REACT_NATIVE,
        "touchpoint",
        (
            event("app_install"),
            event("pageview", {"screen": "Sale"}),
            event("Signup Started", SIGNUP),
            event("$identify", {"email": "ada@example.com"}, user_id="user-7"),
            event("$alias", user_id="user-7"),
            event("$identify", user_id="user-7"),
            event(
                "purchase",
                user_id="user-7",
                source="mobile_app",
                os="iOS",
                os_version="18.2",
                sdk_name="@datalyr/react-native",
                **ORDER,
            ),
        ),
    ),
)
