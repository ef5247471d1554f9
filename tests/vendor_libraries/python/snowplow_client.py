"""Sends a visit by snowplow-tracker."""

from snowplow_tracker import (
    Emitter,
    PageView,
    SelfDescribing,
    SelfDescribingJson,
    StructuredEvent,
    Subject,
    Tracker,
)
from visit import HOST, KEY, ORDER, ORDER_TIME, REFERRER, URL

protocol, _, address = HOST.partition("://")
emitter = Emitter(address, protocol=protocol, method="post", batch_size=4)
subject = Subject().set_user_id("user-7").set_domain_user_id("device-1").set_lang("en-GB")
subject.set_screen_resolution(1920, 1080)
tracker = Tracker("shop", emitter, subject=subject, app_id=KEY, encode_base64=True)
tracker.track(PageView(page_url=URL, page_title="Sale", referrer=REFERRER))
signup = SelfDescribingJson("iglu:com.example/signup_started/jsonschema/1-0-0", {"plan": "pro", "seats": 3})
tracker.track(SelfDescribing(event_json=signup))
tracker.track(StructuredEvent(category="video", action="play", label="intro", property_="full", value=7))
order = SelfDescribingJson(
    "iglu:com.example/purchase/jsonschema/1-0-0", {"order_id": ORDER, "value": 49.9, "currency": "EUR"}
)
tracker.track(SelfDescribing(event_json=order, true_timestamp=int(ORDER_TIME.timestamp() * 1000)))
tracker.flush()
