"""Decides by event name whether an amount is money, and whether a charge is an order.

The amount of a product view, a cart or a lead is the worth of what was looked at or hoped for. It stays in the row and
may be the value of a postback, but nothing was paid.
"""

import re
from typing import Final

from service_core.analytics.ports import ConversionSet
from service_core.ingestion.event_names import (
    PURCHASE_EVENTS,
    REFUND_EVENTS,
    RENEWAL_EVENTS,
    SUBSCRIPTION_EVENTS,
    TRIAL_CONVERSION_EVENTS,
)

ORDER_EVENTS: Final = PURCHASE_EVENTS | SUBSCRIPTION_EVENTS | RENEWAL_EVENTS | TRIAL_CONVERSION_EVENTS
"""Event names whose charge is an order, even at zero value."""

PAID_EVENTS: Final = ORDER_EVENTS | REFUND_EVENTS | {"refund_reversed"}
"""Event names whose amount is money in every workspace."""

_VENDOR_STANDARD_EVENTS: Final = """
    achieve_level achievement_unlocked activate_app ad_click ad_exposure ad_impression ad_query ad_reward
    add_billing add_cart add_payment_info add_shipping_info add_to_cart add_to_wishlist adunit_exposure
    app_clear_data app_exception app_install app_open app_remove app_update application_approval
    application_backgrounded application_crashed application_installed application_opened
    application_uninstalled application_updated begin_checkout campaign_details cart_shared cart_viewed
    checkout_started checkout_step_completed checkout_step_viewed click click_button close_convert_lead
    close_unconvert_lead complete_registration contact content_view coupon_applied coupon_denied
    coupon_entered coupon_removed customize_product deep_link_opened disqualify_lead download
    earn_virtual_currency error exception file_download find_location first_open first_visit form_start
    form_submit generate_lead identify initiate_checkout initiated_checkout install_attributed join_group lead
    level_achieved level_complete level_end level_start level_up list_view login notification_dismiss
    notification_foreground notification_open notification_receive open_app order_cancelled order_refunded
    order_updated page page_view page_visit pageview payment_info_entered place_an_order post_score
    product_added product_added_to_wishlist product_clicked product_list_filtered product_list_viewed
    product_removed product_removed_from_wishlist product_reviewed product_shared product_view product_viewed
    products_searched promotion_clicked promotion_viewed push_notification_bounced push_notification_received
    push_notification_tapped qualify_lead rate rated registration remove_from_cart save schedule screen
    screen_view scroll search search_submitted select_content select_item select_promotion session_end
    session_start share sign_in sign_up signed_in signed_up signup spend_credits spend_virtual_currency
    start_checkout start_order start_trial submit_application submit_form trial_started tutorial_begin
    tutorial_complete tutorial_completion unlock_achievement update user_engagement video_complete
    video_progress video_start view_cart view_category view_content view_item view_item_list view_promotion
    view_search_results watch_video wishlist_product_added_to_cart working_lead
"""

UNPAID_EVENT_KEYS: Final = frozenset(name.replace("_", "") for name in _VENDOR_STANDARD_EVENTS.split())
"""Standard events of ad and analytics vendors with which nothing is paid, as `event_name_key` spells them."""

EVENT_NAME_SEPARATORS: Final = "_- "
"""Characters between words that vendors spell differently: ``view_item``, ``View Item``."""

_SEPARATOR: Final = re.compile(f"[{re.escape(EVENT_NAME_SEPARATORS)}]")


def event_name_key(name: str) -> str:
    """Returns a name without separators and in lower case: ``ViewContent`` and ``view_content`` give the same."""
    return _SEPARATOR.sub("", name.lower())


def is_revenue_event(name: str, conversions: ConversionSet) -> bool:
    """Whether the amount of an event is money: something was paid or paid back.

    It is for `PAID_EVENTS` and for names the workspace lists; for other names unless they are system events or a
    vendor's standard event, or the workspace counts no custom names.
    """
    if name in PAID_EVENTS or name in conversions.revenue_names:
        return True
    is_custom = not name.startswith("$") and event_name_key(name) not in UNPAID_EVENT_KEYS
    return conversions.custom_revenue and is_custom


def is_order_event(name: str, conversions: ConversionSet) -> bool:
    """Whether a charge of this name is an order: of `ORDER_EVENTS`, or of the names the workspace lists."""
    return name in ORDER_EVENTS or name in conversions.revenue_names
