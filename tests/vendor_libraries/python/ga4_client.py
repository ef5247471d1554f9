"""Sends a visit by ga4mp, the client for the Measurement Protocol."""

from ga4mp import GtagMP
from visit import HOST, KEY, ORDER, ORDER_TIME, REFERRER, URL

client = GtagMP(api_secret=KEY, measurement_id="G-SHOP", client_id="1.2")
client._base_domain = f"{HOST}/mp/collect"


def event(name, **parameters):
    """Returns an event of the library with these parameters."""
    made = client.create_new_event(name)
    for parameter, value in parameters.items():
        made.set_event_param(parameter, value)
    return made


client.send([event("page_view", page_location=URL, page_referrer=REFERRER, page_title="Sale")])
client.send([event("signup_started", plan="pro", seats=3), event("tutorial_begin", step=1)])
order = {"transaction_id": ORDER, "value": 49.9, "currency": "EUR"}
client.send([event("purchase", **order)], date=ORDER_TIME.astimezone().replace(tzinfo=None))
client.send([event("review_written", stars=5)], postpone=True)
client.postponed_send()
