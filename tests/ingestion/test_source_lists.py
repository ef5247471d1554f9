"""The source lists know the hosts that visits of the field really come from."""

import re

import pytest

from plugins.domains_publicsuffix.adapter import PackagedSuffixList
from service_core.ingestion.campaign import parse_campaign_and_install_referrer
from service_core.ingestion.channel_rules import source_hosts
from service_core.ingestion.traffic_classification import TrafficClassifier
from tests.ingestion.well_known_referrers import WELL_KNOWN_REFERRERS

REQUIRED_SHARE = 0.9
NO_CAMPAIGN = parse_campaign_and_install_referrer({})


@pytest.fixture(scope="module")
def classifier():
    return TrafficClassifier(PackagedSuffixList())


@pytest.mark.parametrize("channel", WELL_KNOWN_REFERRERS)
def test_well_known_referrers_have_their_channel_and_source(classifier, channel):
    wrong = []
    entries = WELL_KNOWN_REFERRERS[channel].split()
    for entry in entries:
        host, _, source = entry.partition("=")
        visit = classifier.classify_visit(NO_CAMPAIGN, host.removeprefix("www."), ())
        if visit.channel != channel or source not in {"", visit.source}:
            wrong.append((entry, visit.channel, visit.source))
    assert len(wrong) <= len(entries) * (1 - REQUIRED_SHARE), wrong


def test_entries_are_whole_host_names():
    lists = [text.split() for name, text in vars(source_hosts).items() if name.endswith("_HOSTS")]
    assert len(lists) == 7
    host = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
    assert [entry for entries in lists for entry in entries if not host.fullmatch(entry)] == []
