"""Sends a visit by mixpanel."""

from mixpanel import BufferedConsumer, Consumer, Mixpanel
from visit import HOST, KEY, ORDER, ORDER_TIME, REFERRER, URL

urls = {
    f"{name}_url": f"{HOST}/mixpanel/{path}"
    for name, path in (("events", "track"), ("people", "engage"), ("groups", "groups"), ("import", "import"))
}
one = Mixpanel(KEY, Consumer(**urls))
one.track("device-1", "Page Viewed", {"$current_url": URL, "$referrer": REFERRER})
one.people_set("user-7", {"$email": "ada@example.com"})
consumer = BufferedConsumer(**urls)
batch = Mixpanel(KEY, consumer)
batch.track("device-1", "Signup Started", {"plan": "pro", "seats": 3})
person = {"$device_id": "device-1", "$user_id": "user-7"}
order = {"order_id": ORDER, "value": 49.9, "currency": "EUR", "time": int(ORDER_TIME.timestamp()), **person}
batch.track("user-7", "purchase", order)
batch.people_increment("user-7", {"logins": 2})
batch.group_set("company", "team-1", {"name": "Team"})
consumer.flush()
