"""Sends a visit by matomopy."""

from matomopy.tracking import MatomoTracker
from visit import HOST, KEY, ORDER, ORDER_TIME, REFERRER, URL

tracker = MatomoTracker(f"{HOST}/matomo.php", 1, KEY)
tracker.set_visitor_id("0123456789abcdef").set_user_id("user-7").set_ip("203.0.113.9").set_url(URL)
tracker.set_url_referrer(REFERRER).set_resolution(1920, 1080)
tracker.track_page_view("Sale")
tracker.track_event("form", "Signup Started", "pro", 3)
tracker.set_custom_timestamp(int(ORDER_TIME.timestamp()))
tracker.track_ecommerce_order(ORDER, 49.9, items=[("sku-1", "Mug", "Cups", 49.9, 1)], tax=8)
