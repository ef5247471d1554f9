"""Sends a visit by posthog."""

from posthog import Posthog
from visit import HOST, KEY, ORDER, ORDER_TIME, REFERRER, URL

client = Posthog(KEY, host=HOST, gzip=True)
page = {"$current_url": URL, "$referrer": REFERRER}
client.capture("$pageview", distinct_id="device-1", properties=page)
client.capture("Signup Started", distinct_id="device-1", properties={"plan": "pro", "seats": 3})
client.set(distinct_id="user-7", properties={"email": "ada@example.com"})
client.group_identify("company", "team-1", {"name": "Team"}, distinct_id="user-7")
client.alias("device-1", "user-7")
order = {"order_id": ORDER, "value": 49.9, "currency": "EUR"}
client.capture("purchase", distinct_id="user-7", properties=order, timestamp=ORDER_TIME)
client.shutdown()
