"""Finds the event in which a payment arose: its session is where the money was paid.

A revenue provider or a server of the site may report an order that a device of the buyer reports, too. The session
and the custom properties of the order are those of the device's report.
"""

from collections.abc import Iterable

from service_core.analytics.event_rules.order_deduplication import (
    ORDER_DEDUP_WINDOW,
    TRACKED,
    event_time_key,
    order_payment_and_message_ids,
    provider_of_payment,
)
from service_core.ingestion.models import Event


def device_report_of_charge_or_itself(charge: Event, tracked_reports: Iterable[Event]) -> Event:
    """Returns the event in which a charge arose.

    It is the charge itself if a device sent it, else the earliest report of a device for the same order less than 7
    days before or after. Without one, it is the charge if it was tracked, else the earliest tracked report, else the charge.

    Args:
        charge: a charge that counts.
        tracked_reports: conversions and charges of the tracking API, in any order.
    """
    if charge.from_device:
        return charge
    ids = order_payment_and_message_ids(charge)
    is_tracked = provider_of_payment(charge) == TRACKED
    matches = [
        report
        for report in tracked_reports
        if ids & order_payment_and_message_ids(report)
        and abs(report.timestamp - charge.timestamp) < ORDER_DEDUP_WINDOW
        and (report.from_device or not is_tracked)
    ]
    return min(matches, key=lambda report: (not report.from_device, *event_time_key(report)), default=charge)
