"""Detection rates on a public data set, and people who are not bots."""

from collections import Counter

import pytest
from crawleruseragents import CRAWLER_USER_AGENTS_DATA

from plugins.devices_useragent.adapter import DeviceDetectorAdapter
from tests.plugins.device_fixtures import load_bot_agents, load_device_fixtures, matches_by_field

EVERY_NTH_FIXTURE = 7
NAMES_OF_PEOPLES_PRODUCTS = {r"AP3A\.240617\.008", r"Code\/1\.", r"Trae\/", "Fluid"}
"""Patterns of the crawler list that name a build of Android, two editors and a browser."""

ANDROID = "Mozilla/5.0 (Linux; Android {}; {}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 {}Safari/537.36{}"


@pytest.fixture(scope="module")
def parser():
    return DeviceDetectorAdapter(cache_size=0)


def test_detection_rates_on_public_fixtures(parser):
    right, count = Counter(), Counter()
    for fixture in load_device_fixtures()[::EVERY_NTH_FIXTURE]:
        for field, matches in matches_by_field(parser.parse(fixture.user_agent), fixture).items():
            count[field] += 1
            right[field] += matches
    rates = {field: right[field] / count[field] for field in count}
    assert sum(count.values()) > 10_000
    assert rates["browser"] >= 0.99
    assert rates["os"] >= 0.99
    assert rates["device_type"] >= 0.99


@pytest.mark.parametrize(
    "agent",
    [
        # the Sogou browser on phones and desktops
        ANDROID.format(10, "V1990A", 78, "Mobile ", " SogouMSE,SogouMobileBrowser/6.2.5"),
        ANDROID.format(9, "HLK-AL00", 70, "Mobile ", " SogouSearch Android1.0 version3.0"),
        "Mozilla/5.0 (Windows NT 10.0; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/80.0.3987.87 Safari/537.36 SE 2.X MetaSr 1.0",
        # names of phones and tablets
        ANDROID.format(11, "ViewSonic VSD243", 100, "", ""),
        ANDROID.format(4, "ViewSonic-ViewPad7", 40, "Mobile ", ""),
        ANDROID.format(13, "Spider 8", 124, "", ""),
        ANDROID.format(13, "Spider X Pro Build/TP1A.220624.014", 124, "Mobile ", ""),
        ANDROID.format(12, "CUBOT X50", 120, "Mobile ", ""),
        ANDROID.format(7, "M bot 54", 78, "Mobile ", ""),
        ANDROID.format(6, "VR BOT 552 PLUS", 78, "Mobile ", ""),
        ANDROID.format(8, "XBot Junior", 87, "Mobile ", ""),
        ANDROID.format(7, "C Bot Tab 100", 74, "", ""),
        ANDROID.format(8, "Fever_Plus_J", 95, "Mobile ", ""),
        ANDROID.format(8, "Expanse", 86, "Mobile ", ""),
        ANDROID.format(4, "HTC Butterfly s", 96, "Mobile ", ""),
        ANDROID.format(10, "Sonic 3", 96, "Mobile ", ""),
        ANDROID.format(10, "Crawler 2 Build/QP1A", 96, "Mobile ", ""),
        ANDROID.format(15, "CPH2581 Build/AP3A.240617.008; wv", 141, "Mobile ", ""),
        "Dalvik/2.1.0 (Linux; U; Android 13; Spider 8 Build/TP1A.220624.014)",
        "DESAY TS1008/1.0 Release/07.12.2013 Mozilla/5.0 (Linux; U; Android 4.0.3; zh-cn) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30",
        # applications with a browser inside
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Code/1.91.0 Chrome/122.0.6261.156 Electron/29.4.0 Safari/537.36",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Code/1.61.2 Chrome/91.0.4472.164 Electron/13.5.1 Safari/537.36",
        ANDROID.format(14, "SM-S921B; wv", 126, "Mobile ", " Viber/22.4"),
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_13_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Fluid/2.1.2 Safari/605.1.15",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/470.0.0;FBDV/iPhone15,2;FBMD/iPhone]",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 330.0.0 (iPhone15,2; iOS 17_5)",
    ],
)
def test_people_are_not_crawlers(parser, agent):
    assert not parser.parse(agent).crawler


def test_no_browser_of_the_public_fixtures_is_a_crawler(parser):
    fixtures = [fixture for fixture in load_device_fixtures()[::EVERY_NTH_FIXTURE] if fixture.browser]
    assert [fixture for fixture in fixtures if parser.parse(fixture.user_agent).crawler] == []


@pytest.mark.parametrize(
    "agent",
    [
        "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)",
        "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
        "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 (Linux; Android 7.0;) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 8_1 like Mac OS X) AppleWebKit/600.1.4 (KHTML, like Gecko) Version/8.0 Mobile/12B411 Safari/600.1.4 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
        "Mozilla/5.0 (Linux; Android 8.0; Pixel 2 Build/OPD3.170816.012; Storebot-Google/1.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/81.0.4044.138 Mobile Safari/537.36",
        "WhatsApp/2.23.20.0 A",
        "python-requests/2.32.3",
        "Wget/1.21.4",
    ],
)
def test_crawlers_on_named_devices_are_crawlers(parser, agent):
    assert parser.parse(agent).crawler


def test_agents_of_the_public_crawler_lists_are_crawlers(parser):
    listed = [
        agent
        for entry in CRAWLER_USER_AGENTS_DATA
        if entry["pattern"] not in NAMES_OF_PEOPLES_PRODUCTS
        for agent in entry["instances"]
    ]
    agents = load_bot_agents() + listed
    assert len(agents) > 3_000
    assert [agent for agent in agents if not parser.parse(agent).crawler] == []
