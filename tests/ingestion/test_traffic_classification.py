"""Semantics 7: source, medium and channel, every golden row of 7.3."""

import pytest

from service_core.access.analytics_settings import CustomChannel
from service_core.ingestion.campaign import parse_campaign_and_install_referrer
from service_core.ingestion.channel_rules.channels import CHANNEL_RULES, ChannelCondition, ChannelRule
from service_core.ingestion.channel_rules.sources import SOURCES_BY_CATEGORY
from service_core.ingestion.page_context import parse_page_context
from service_core.ingestion.traffic_classification import TrafficClassifier, TrafficSource
from service_core.ingestion.traffic_source_columns import traffic_source_columns
from service_core.testing.ingestion_stubs import StubPublicSuffixes, make_workspace

CLASSIFIER = TrafficClassifier(StubPublicSuffixes())
OWN = ("example.com",)


def classify_traffic(properties=None, referrer=None, own=()):
    host = referrer if referrer and CLASSIFIER.is_other_site_and_no_payment_or_login(referrer, OWN) else None
    return CLASSIFIER.classify_visit(parse_campaign_and_install_referrer(properties or {}), host, own)


def utm_properties(source=None, medium=None, name=None, **more):
    sent = {"utm_source": source, "utm_medium": medium, "utm_campaign": name, **more}
    return {key: value for key, value in sent.items() if value is not None}


@pytest.mark.parametrize(
    ("properties", "referrer", "channel"),
    [
        (utm_properties("google", "cpc"), None, "paid_search"),
        (utm_properties("google", "cpc", "spring-shopping"), None, "paid_shopping"),
        (utm_properties("google", "cpm"), None, "paid_search"),
        (utm_properties("news.example", "cpm"), None, "display"),
        (utm_properties("fb", "paid_social"), None, "paid_social"),
        (utm_properties(fbclid="1"), None, "organic_social"),
        (utm_properties(gclid="1"), None, "paid_search"),
        (utm_properties("youtube", gclid="1"), None, "paid_video"),
        (utm_properties("google", "organic", gclid="1"), None, "organic_search"),
        (utm_properties(dclid="1"), None, "display"),
        (utm_properties(irclid="1"), None, "affiliate"),
        (utm_properties(obclid="1"), None, "paid_other"),
        (utm_properties(oppref="1"), None, "ai_assistant"),
        (None, "gemini.google.com", "ai_assistant"),
        (None, "google.com", "organic_search"),
        (utm_properties("foo", name="workshop"), None, "unassigned"),
        (utm_properties("foo", name="eshop"), None, "organic_shopping"),
        (None, "checkout.stripe.com", "direct"),
        (None, "partner.example", "referral"),
        ({"lyr": "tag"}, None, "link"),
        (None, None, "direct"),
    ],
)
def test_channels_have_golden_values(properties, referrer, channel):
    assert classify_traffic(properties, referrer).channel == channel


@pytest.mark.parametrize(
    ("click_id", "source", "medium", "channel"),
    [
        ("gclid", "google", "cpc", "paid_search"),
        ("gbraid", "google", "cpc", "paid_search"),
        ("wbraid", "google", "cpc", "paid_search"),
        ("msclkid", "bing", "cpc", "paid_search"),
        ("dclid", "doubleclick", "display", "display"),
        ("ttclid", "tiktok", "cpc", "paid_social"),
        ("twclid", "twitter", "cpc", "paid_social"),
        ("li_fat_id", "linkedin", "cpc", "paid_social"),
        ("rdt_cid", "reddit", "cpc", "paid_social"),
        ("sclid", "snapchat", "cpc", "paid_social"),
        ("ScCid", "snapchat", "cpc", "paid_social"),
        ("epik", "pinterest", "cpc", "paid_social"),
        ("fbclid", "facebook", "social", "organic_social"),
        ("obclid", "outbrain", "cpc", "paid_other"),
        ("irclid", "impact", "affiliate", "affiliate"),
        ("irclickid", "impact", "affiliate", "affiliate"),
        ("oppref", "openai", "referral", "ai_assistant"),
        ("ko_click_id", "(direct)", "(none)", "unassigned"),
    ],
)
def test_click_id_names_source_and_medium(click_id, source, medium, channel):
    assert classify_traffic({click_id: "1"}) == TrafficSource(source, medium, channel)


@pytest.mark.parametrize(
    ("host", "source", "medium", "channel"),
    [
        ("google.de", "google", "organic", "organic_search"),
        ("google.co.uk", "google", "organic", "organic_search"),
        ("l.facebook.com", "facebook", "social", "organic_social"),
        ("t.co", "twitter", "social", "organic_social"),
        ("out.reddit.com", "reddit", "social", "organic_social"),
        ("youtu.be", "youtube", "video", "video"),
        ("m.youtube.com", "youtube", "video", "video"),
        ("shopping.google.com", "shopping.google.com", "referral", "organic_shopping"),
        ("amazon.co.uk", "amazon", "referral", "organic_shopping"),
        ("chatgpt.com", "chatgpt.com", "referral", "ai_assistant"),
        ("search.brave.com", "search.brave.com", "organic", "organic_search"),
        ("brave.com", "brave.com", "referral", "referral"),
        ("blog.partner.example", "partner.example", "referral", "referral"),
        ("198.51.100.7", "198.51.100.7", "referral", "referral"),
        ("example.com", "(direct)", "(none)", "direct"),
        ("shop.example.com", "(direct)", "(none)", "direct"),
        ("accounts.google.com", "(direct)", "(none)", "direct"),
        ("login.microsoftonline.com", "(direct)", "(none)", "direct"),
        ("notstripe.com", "notstripe.com", "referral", "referral"),
    ],
)
def test_referrer_is_found_in_the_lists_or_named_by_its_registrable_domain(host, source, medium, channel):
    assert classify_traffic(None, host) == TrafficSource(source, medium, channel)


@pytest.mark.parametrize(
    ("properties", "attribution"),
    [
        (utm_properties(" Google "), ("google", "organic", "organic_search")),
        (utm_properties("IG"), ("ig", "social", "organic_social")),
        (utm_properties("www.facebook.com", "CPC"), ("www.facebook.com", "CPC", "paid_social")),
        (utm_properties("newsletter", "E-Mail"), ("newsletter", "E-Mail", "email")),
        (utm_properties("firebase"), ("firebase", "(none)", "push")),
        (utm_properties("app", "mobile web"), ("app", "mobile web", "push")),
        (utm_properties("a", "web_push"), ("a", "web_push", "push")),
        (utm_properties("a", "sms"), ("a", "sms", "sms")),
        (utm_properties("a", "audio"), ("a", "audio", "audio")),
        (utm_properties("a", "affiliates"), ("a", "affiliates", "affiliate")),
        (utm_properties("a", "Social-Network"), ("a", "Social-Network", "organic_social")),
        (utm_properties("a", "online video"), ("a", "online video", "video")),
        (utm_properties("a", "link"), ("a", "link", "referral")),
        (utm_properties("a", "x", "2026 Cross-Network"), ("a", "x", "cross_network")),
        (utm_properties("(direct)", "(not set)"), ("(direct)", "(none)", "direct")),
        (utm_properties("(direct)"), ("(direct)", "(none)", "direct")),
        (utm_properties(name="only"), ("(direct)", "(none)", "unassigned")),
        (utm_properties("a", "retargeting"), ("a", "retargeting", "paid_other")),
    ],
)
def test_sent_values_are_kept_and_matched_without_case(properties, attribution):
    assert classify_traffic(properties) == TrafficSource(*attribution)


def test_first_click_id_by_precedence_is_the_source():
    assert classify_traffic({"msclkid": "m", "gclid": "g"}).source == "google"
    assert classify_traffic({"gclid": "g", "fbclid": "f"}).source == "facebook"


def test_own_hosts_and_the_host_of_the_page_are_never_external():
    assert not CLASSIFIER.is_other_site_and_no_payment_or_login("docs.example.com", OWN)
    assert not CLASSIFIER.is_other_site_and_no_payment_or_login("localhost", ("localhost",))
    assert CLASSIFIER.is_other_site_and_no_payment_or_login("me.github.io", ("you.github.io",))


def test_known_spam_is_spam_with_its_subdomains():
    assert CLASSIFIER.is_spam("www1.semalt.com")
    assert not CLASSIFIER.is_spam("partner.example")


@pytest.mark.parametrize(
    ("own", "properties", "channel"),
    [
        (CustomChannel("custom:crm", source="newsletter"), utm_properties("Newsletter", "email"), "custom:crm"),
        (CustomChannel("custom:crm", source="newsletter"), utm_properties("google", "cpc"), "paid_search"),
        (CustomChannel("custom:crm", source="newsletter"), utm_properties("newsletters", "email"), "email"),
        (CustomChannel("custom:partner", campaign="partner-*"), utm_properties("google", "cpc", "Partner-7"), "custom:partner"),
        (CustomChannel("custom:both", source="google", medium="cp*"), utm_properties("google", "cpc"), "custom:both"),
        (CustomChannel("custom:both", source="google", medium="cp*"), utm_properties("google", "organic"), "organic_search"),
        (CustomChannel("custom:dot", source="a.b"), utm_properties("axb", "email"), "email"),
        (CustomChannel("custom:walkin", source="(direct)"), None, "custom:walkin"),
    ],
)  # fmt: skip
def test_custom_channels_precede_the_default_rules(own, properties, channel):
    assert classify_traffic(properties, own=(own,)).channel == channel


def test_custom_channels_apply_in_order_to_their_workspace_only():
    own = (CustomChannel("custom:first", medium="email"), CustomChannel("custom:second", medium="*"))
    assert classify_traffic(utm_properties("foo", "email"), own=own).channel == "custom:first"
    assert classify_traffic(utm_properties("foo", "other"), own=own).channel == "custom:second"
    assert classify_traffic(utm_properties("foo", "email")).channel == "email"


def test_last_rule_matches_everything():
    assert CHANNEL_RULES[-1] == ChannelRule("unassigned", (ChannelCondition(),))


@pytest.mark.parametrize(
    ("referrer", "source", "medium", "channel"),
    [
        ("android-app://com.google.android.googlequicksearchbox/", "google", "organic", "organic_search"),
        ("android-app://com.google.android.gm/", "gmail.com", "email", "email"),
        ("android-app://com.linkedin.android", "linkedin", "social", "organic_social"),
        ("android-app://org.telegram.messenger/", "telegram", "social", "organic_social"),
        ("android-app://com.Slack/", "slack", "referral", "referral"),
        ("ios-app://1064216828/reddit/r/x", "reddit", "social", "organic_social"),
        ("android-app://com.example.reader/", "com.example.reader", "referral", "referral"),
        ("https://mail.google.com/mail/u/0/", "mail.google.com", "email", "email"),
        ("https://mail.yahoo.com/", "mail.yahoo.com", "email", "email"),
        ("https://docs.google.com/document/1", "docs.google.com", "referral", "referral"),
        ("https://translate.google.com/", "translate.google.com", "referral", "referral"),
        ("https://notebooklm.google.com/", "notebooklm.google.com", "referral", "ai_assistant"),
        ("https://www.google.de/", "google", "organic", "organic_search"),
        ("https://search.seznam.cz/?q=x", "search.seznam.cz", "organic", "organic_search"),
        ("https://www.so.com/s?q=x", "so.com", "organic", "organic_search"),
        ("https://news.ycombinator.com/item?id=1", "news.ycombinator.com", "social", "organic_social"),
        ("https://www.xing.com/", "xing.com", "social", "organic_social"),
        ("https://bard.google.com/", "bard.google.com", "referral", "ai_assistant"),
        ("https://chat.qwen.ai/", "chat.qwen.ai", "referral", "ai_assistant"),
    ],
)
def test_referring_app_mail_host_or_listed_site_has_its_source_and_channel(referrer, source, medium, channel):
    workspace = make_workspace(domain="example.com")
    page = parse_page_context({"referrer": referrer}, workspace, CLASSIFIER)
    columns = traffic_source_columns(parse_campaign_and_install_referrer({}), page, None, CLASSIFIER)
    assert (columns["attribution_source"], columns["attribution_medium"], columns["channel"]) == (
        source, medium, channel,
    )  # fmt: skip


def test_every_host_is_in_one_list():
    hosts = [entry for entries in SOURCES_BY_CATEGORY.values() for entry in entries]
    assert sorted(hosts) == sorted(set(hosts))
