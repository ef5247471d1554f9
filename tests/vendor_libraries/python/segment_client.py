"""Sends a visit by segment-analytics-python."""

from segment import analytics
from visit import HOST, KEY, ORDER, ORDER_TIME, REFERRER, URL

analytics.write_key, analytics.host, analytics.gzip = KEY, HOST, True
page = {"url": URL, "path": "/sale", "referrer": REFERRER}
analytics.page(anonymous_id="device-1", name="Sale", properties=page)
analytics.track(anonymous_id="device-1", event="Signup Started", properties={"plan": "pro", "seats": 3})
analytics.identify("user-7", {"email": "ada@example.com"}, anonymous_id="device-1")
analytics.group("user-7", "team-1", {"name": "Team"})
analytics.alias("device-1", "user-7")
order = {"order_id": ORDER, "total": 49.9, "currency": "EUR"}
analytics.track("user-7", "Order Completed", order, timestamp=ORDER_TIME)
analytics.shutdown()
