"""Sends a visit by umami-analytics."""

import umami
from visit import HOST, KEY, ORDER, REFERRER

umami.set_url_base(HOST)
umami.set_website_id(KEY)
umami.set_hostname("shop.example")
agent = "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0"
umami.new_page_view(
    page_title="Sale", url="/sale?utm_source=news", referrer=REFERRER, ua=agent, distinct_id="user-7"
)
umami.new_event(
    event_name="Signup Started", title="Sale", url="/sale", custom_data={"plan": "pro", "seats": 3},
    distinct_id="user-7",
)  # fmt: skip
umami.new_revenue_event(
    revenue=49.9, currency="EUR", event_name="purchase", url="/cart", custom_data={"order_id": ORDER},
    distinct_id="user-7",
)  # fmt: skip
