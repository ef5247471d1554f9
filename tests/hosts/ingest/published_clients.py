"""Requests as published client libraries send them: headers, body, and the columns their row has.

``{workspace}`` stands for the public id of the workspace, ``{key}`` for its write key.
"""

from typing import Any, NamedTuple

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Safari/537.36"
)
IPHONE_WEBVIEW = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Mobile/15E148"
)
FBP, FBC, TTP = "fb.1.1783400000000.1234567890", "fb.1.1783400000000.IwAR1", "01HZX3QK2P_.tt.1"
TIME = "2026-07-08T10:00:00.000Z"


class PublishedClient(NamedTuple):
    """A request of a library, and what the row of its first event holds."""

    name: str
    path: str
    headers: dict[str, str]
    body: Any
    columns: dict[str, Any]
    gzip: bool = False


WEB_EVENT = {
    "event_id": "8d6f2c1e-browser", "event_name": "pageview", "workspace_id": "{workspace}",
    "visitor_id": "vis_7f1", "anonymous_id": "anon_web_1", "distinct_id": "anon_web_1", "session_id": "sess_web_1",
    "timestamp": TIME, "source": "web", "sdk_name": "web-sdk", "sdk_version": "1.7.11", "schema_version": "2",
    "event_data": {
        "url": "https://shop.example/sale?utm_source=facebook&utm_medium=paid&fbclid=IwAR1", "title": "Sale",
        "referrer": "https://l.facebook.com/", "utm_source": "facebook", "utm_medium": "paid", "fbclid": "IwAR1",
        "_fbp": FBP, "_fbc": FBC, "_ttp": TTP, "screen_width": 1920, "screen_height": 1080, "language": "en-GB",
        "consent": {"analytics": True, "marketing": True},
    },
    "fingerprint_data": {"timezone": "Europe/London", "language": "en-GB", "platform": "Win32"},
}  # fmt: skip

CLIENTS = (
    PublishedClient(
        "browser_beacon",
        "/",
        {"content-type": "text/plain;charset=UTF-8", "user-agent": CHROME, "accept-language": "en-GB,en;q=0.9"},
        {"events": [WEB_EVENT], "sent_at": TIME},
        {
            "source": "web", "session_id": "sess_web_1", "anonymous_id": "anon_web_1", "fbp": FBP, "fbc": FBC,
            "ttp": TTP, "fbclid": "IwAR1", "sdk_name": "web-sdk", "sdk_version": "1.7.11", "browser": "Chrome",
            "os": "Windows", "page_path": "/sale", "utm_source": "facebook", "language": "en-GB",
            "screen_width": 1920, "is_bot": False,
        },
    ),
    PublishedClient(
        "browser_fetch_with_cookies_beside_the_event_data",
        "/batch",
        {
            "content-type": "application/json", "user-agent": CHROME, "x-batch-size": "1",
            "x-container-version": "1.0",
        },
        {
            "workspace_id": "{workspace}",
            "events": [
                {
                    "eventId": "ev-web-2", "event": "add_to_cart", "anonymousId": "anon_web_2", "timestamp": 1783504800000,
                    "properties": {"value": 20, "currency": "usd", "path": "/cart"},
                    "fingerprint_data": {"fbp": FBP, "cookies": {}}, "cookies": f"_ttp={TTP}; _fbc={FBC}; theme=dark",
                    "context": {"session_id": "s-2", "library": {"name": "container", "version": "1.0"}},
                }
            ],
        },
        {
            "source": "web", "event_id": "ev-web-2", "fbp": FBP, "fbc": FBC, "ttp": TTP, "sdk_name": "container",
            "sdk_version": "1.0", "timestamp": TIME, "page_path": "/cart",
        },
    ),
    PublishedClient(
        "browser_without_consent",
        "/batch",
        {"content-type": "application/json", "user-agent": CHROME},
        {
            "events": [
                WEB_EVENT
                | {
                    "event_id": "no-consent",
                    "event_data": WEB_EVENT["event_data"]
                    | {"consent": {"analytics": True, "marketing": False}, "_ga": "GA1.1.5", "cookies": {"_fbp": FBP}},
                }
            ]
        },
        {
            "source": "web", "fbp": None, "fbc": None, "ttp": None, "fbclid": None, "click_id": None,
            "page_url": "https://shop.example/sale?utm_source=facebook&utm_medium=paid", "utm_source": "facebook",
            "event_data": {
                **{k: v for k, v in WEB_EVENT["event_data"].items() if k not in {"_fbp", "_fbc", "_ttp", "fbclid"}},
                "url": "https://shop.example/sale?utm_source=facebook&utm_medium=paid",
                "consent": {"analytics": True, "marketing": False},
            },
        },
    ),
    PublishedClient(
        "browser_gzip",
        "/",
        {"content-type": "application/json", "content-encoding": "gzip", "user-agent": CHROME},
        {"events": [WEB_EVENT | {"event_id": "zipped"}]},
        {"event_id": "zipped", "source": "web", "fbp": FBP},
        gzip=True,
    ),
    PublishedClient(
        "react_native_ios",
        "/track",
        {
            "content-type": "application/json", "user-agent": "@example/react-native/1.7.9", "x-api-key": "{key}",
            "accept-language": "*",
        },
        {
            "event": "purchase", "eventId": "ev-rn-1", "userId": "user_42", "anonymousId": "anon_1",
            "properties": {
                "value": 49.9, "currency": "EUR", "anonymous_id": "anon_1", "platform": "ios", "os_version": "17.4.1",
                "device_model": "iPhone15,3", "app_version": "2.3.0", "app_build": "45",
                "app_name": "com.example.shop", "app_namespace": "com.example.shop", "screen_width": 393,
                "screen_height": 852, "locale": "de-DE", "timezone": "Europe/Berlin", "country": "DE",
                "network_type": "wifi", "timestamp": 1783504800000, "sdk_version": "1.7.9", "_fbp": FBP, "_fbc": FBC,
                "fbclid": "IwAR1", "sessionId": "sess-1", "source": "mobile_app",
                "fingerprint": {
                    "deviceId": "d-1",
                    "deviceInfo": {
                        "model": "iPhone15,3", "manufacturer": "Apple", "osVersion": "17.4.1",
                        "screenSize": "393x852", "timezone": "Europe/Berlin", "locale": "de-DE", "isEmulator": False,
                    },
                },
            },
            "context": {
                "library": "@example/react-native", "version": "1.7.9", "source": "mobile_app",
                "session_id": "sess-1", "userProperties": {"email": "a@example.com"},
            },
            "timestamp": TIME,
        },
        {
            "source": "mobile_app", "os": "iOS", "os_version": "17.4.1", "language": "de-DE", "app_version": "2.3.0",
            "app_name": "com.example.shop", "screen_width": 393, "fbp": FBP, "fbc": FBC, "fbclid": "IwAR1",
            "revenue": 49.9, "currency": "EUR", "session_id": "sess-1", "sdk_name": "@example/react-native",
            "sdk_version": "1.7.9", "user_id": "user_42", "anonymous_id": "anon_1", "event_id": "ev-rn-1",
        },
    ),
    PublishedClient(
        "react_native_android_through_its_http_client",
        "/track",
        {"content-type": "application/json", "user-agent": "okhttp/4.12.0", "x-api-key": "{key}"},
        {
            "event": "app_install", "eventId": "ev-rn-2", "userId": "vis-2", "anonymousId": "anon_2",
            "properties": {
                "platform": "android", "os_version": "14", "locale": "pt_BR", "install_referrer_url":
                "utm_source=google-play&utm_medium=cpc&gclid=Cj0A", "app_version": "2.3.0",
            },
            "context": {"library": "@example/react-native", "version": "1.7.9", "session_id": "sess-2"},
            "timestamp": TIME,
        },
        {
            "source": "mobile_app", "os": "Android", "os_version": "14", "language": "pt_BR", "gclid": "Cj0A",
            "utm_medium": "cpc",
        },
    ),
    PublishedClient(
        "ios",
        "/track",
        {
            "content-type": "application/json", "user-agent": "Shop/45 CFNetwork/1494.0.7 Darwin/23.4.0",
            "authorization": "Bearer {key}", "accept-language": "fr-FR,fr;q=0.9",
        },
        {
            "event": "Product Viewed", "anonymousId": "A5F1-IOS", "messageId": "m-ios-1", "timestamp": "2026-07-08T12:00:00+02:00",
            "properties": {"sku": "S1", "value": "12.50"},
            "context": {
                "library": {"name": "analytics-ios", "version": "4.1.8"}, "app": {"name": "Shop", "version": "3.0"},
                "device": {"type": "ios", "model": "iPhone14,5"}, "os": {"name": "iOS", "version": "17.4"},
                "locale": "fr-FR", "screen": {"width": 390, "height": 844}, "network": {"wifi": True},
            },
        },
        {
            "source": "mobile_app", "event_id": "m-ios-1", "os": "iOS", "os_version": "17.4", "language": "fr-FR",
            "app_name": "Shop", "sdk_name": "analytics-ios", "sdk_version": "4.1.8", "screen_height": 844,
            "timestamp": TIME,
        },
    ),
    PublishedClient(
        "ios_webview_agent_in_the_context",
        "/track",
        {"content-type": "application/json", "user-agent": "shop-ios/3.0", "x-api-key": "{key}"},
        {
            "event": "lead", "visitorId": "wv-1", "timestamp": 1783504800,
            "context": {"userAgent": IPHONE_WEBVIEW, "consent": {"categoryPreferences": {"Advertising": False}}},
            "properties": {"gclid": "Cj0W", "campaign": "x"}, "ip": "203.0.113.9",
        },
        {
            "source": "mobile_app", "os": "iOS", "device_type": "mobile", "gclid": None, "timestamp": TIME,
            "event_data": {"campaign": "x", "consent": "denied"},
        },
    ),
    PublishedClient(
        "android",
        "/track",
        {
            "content-type": "application/json; charset=utf-8", "x-api-key": "{key}",
            "user-agent": "Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8 Build/UD1A.231105.004)",
        },
        {
            "event": "screen_view", "anonymous_id": "and-1", "message_id": "m-and-1", "timestamp": "1783504800000",
            "properties": {"os_name": "Android", "os_version": "14", "app_version": "9.1"},
            "context": {"locale": "es-ES", "library": "analytics-android", "version": "4.11"},
        },
        {"source": "mobile_app", "os": "Android", "language": "es-ES", "app_version": "9.1", "timestamp": TIME},
    ),
    PublishedClient(
        "flutter",
        "/track",
        {"content-type": "application/json", "user-agent": "events-flutter/2.0.1 (Dart/3.3)", "x-api-key": "{key}"},
        {
            "event": "level_up", "distinct_id": "fl-1", "timestamp": TIME,
            "context": {"platform": "ios", "osVersion": "16.2", "locale": "ja"}, "properties": {},
        },
        {"source": "mobile_app", "os": "iOS", "os_version": "16.2", "language": "ja"},
    ),
    *(
        PublishedClient(
            f"server_{agent.partition('/')[0]}",
            "/track",
            {"content-type": "application/json", "user-agent": agent, "x-api-key": "{key}"},
            {
                "event": "order_completed", "userId": 4242, "messageId": f"srv-{agent}", "timestamp": TIME,
                "properties": {"revenue": "1,250.00" if agent.startswith("axios") else "1250.00", "currency": "usd",
                               "order_id": f"o-{agent}", **({} if agent.startswith("okhttp") else {"platform": "ios"})},
                "context": {"library": {"name": agent.partition("/")[0], "version": "1"}}, "ip": "203.0.113.20",
            },
            {"source": "api", "user_id": "4242", "os": None, "country": None, "sdk_version": "1"},
        )
        for agent in (
            "analytics-python/2.3.2", "analytics-node/2.1.0", "analytics-go/3.3.0", "analytics-ruby/2.5.0",
            "analytics-php/3.8.0", "analytics-java/3.5.1", "axios/1.7.2", "node-fetch/3.3.2",
            "python-requests/2.32.3", "okhttp/4.12.0", "Go-http-client/2.0",
        )
    ),
)  # fmt: skip
