"""Names of browsers, systems and device types, and signs of bots."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.devices_useragent.adapter import MAX_USER_AGENT_LENGTH, DeviceDetectorAdapter
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.plugin import Device

CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.5 Mobile/15E148 Safari/604.1"
)


@pytest.fixture(scope="module")
def agents():
    return DeviceDetectorAdapter(cache_size=100)


@pytest.mark.parametrize(
    ("agent", "device"),
    [
        (CHROME, Device("desktop", "Chrome", "126.0", "Windows", "10")),
        (IPHONE, Device("mobile", "Safari", "17.5", "iOS", "17.5")),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15",
            Device("desktop", "Safari", "17.4", "macOS", "10.15"),
        ),
        (
            "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.6478.50 Mobile Safari/537.36",
            Device("mobile", "Chrome", "126.0", "Android", "14"),
        ),
        (
            "Mozilla/5.0 (Linux; Android 13; SM-X700) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
            Device("tablet", "Chrome", "126.0", "Android", "13"),
        ),
        (
            "Mozilla/5.0 (iPad; CPU OS 16_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.1 Mobile/15E148 Safari/604.1",
            Device("tablet", "Safari", "16.1", "iOS", "16.1"),
        ),
        (
            "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
            Device("desktop", "Firefox", "127.0", "Linux"),
        ),
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
            Device("desktop", "Chrome", "126.0", "Linux"),
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1",
            Device("mobile", "Chrome", "126.0", "iOS", "17.5"),
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.2592.56",
            Device("desktop", "Edge", "126.0", "Windows", "10"),
        ),
    ],
)
def test_browser_and_os_names_are_common_names(agents, agent, device):
    assert agents.parse(agent) == device


@pytest.mark.parametrize(
    "agent",
    [
        "Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/4.0 Chrome/76.0.3809.146 TV Safari/537.36",
        "Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/94.0.4606.128 Safari/537.36",
    ],
)
def test_television_is_a_tv(agents, agent):
    assert agents.parse(agent).device_type == "tv"


@pytest.mark.parametrize(
    "agent",
    [
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "GPTBot/1.2",
        "curl/8.5.0",
        "Mozilla/5.0 (compatible; BeetleBot; )",
        "UniversalFeedParser/4.2-pre-314-svn +http://feedparser.org/",
    ],
)
def test_crawler_is_known(agents, agent):
    assert agents.parse(agent).crawler


@pytest.mark.parametrize(
    ("agent", "name", "crawler_class"),
    [
        ("Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)", "GPTBot", "ai_training"),
        (
            "Mozilla/5.0 (compatible; OAI-SearchBot/1.0; +https://openai.com/searchbot)",
            "OAI-SearchBot",
            "ai_search",
        ),
        (
            "Mozilla/5.0; compatible; ChatGPT-User/1.0; +https://openai.com/bot",
            "ChatGPT-User",
            "ai_assistant",
        ),
        (
            "Mozilla/5.0 (compatible; Claude-User/1.0; +Claude-User@anthropic.com)",
            "Claude-User",
            "ai_assistant",
        ),
        ("meta-externalagent/1.1", "meta-externalagent", "ai_training"),
        ("CCBot/2.0 (https://commoncrawl.org/faq/)", "CCBot", "ai_training"),
        ("Mozilla/5.0 (compatible; DeepSeekBot/1.0)", "DeepseekBot", "ai_training"),
        ("Mozilla/5.0 (compatible; Googlebot/2.1)", "Googlebot", "search_engine"),
        ("curl/8.5.0", "curl", "other"),
        ("Mozilla/5.0 (compatible; Unheard; +https://unheard.example)", None, "other"),
        (CHROME, None, None),
    ],
)
def test_crawler_has_name_and_class(agents, agent, name, crawler_class):
    device = agents.parse(agent)
    assert (device.crawler_name, device.crawler_class) == (name, crawler_class)


def test_browsers_are_not_crawlers(agents):
    assert not agents.parse(CHROME).crawler
    assert not agents.parse(IPHONE).crawler
    assert not agents.parse(
        "Mozilla/5.0 (Linux; Android 12; CUBOT X50) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36"
    ).crawler


def test_headless_browser_is_detected(agents):
    device = agents.parse(CHROME.replace("Chrome/", "HeadlessChrome/"))
    assert device.headless
    assert device.browser == "Chrome"
    assert not agents.parse(CHROME).headless


def test_empty_user_agent_gives_null_fields(agents):
    assert agents.parse("") == Device()
    assert agents.parse("!") == Device()


def test_user_agent_is_cut_before_parsing(agents):
    assert agents.parse(CHROME + "x" * MAX_USER_AGENT_LENGTH + " Googlebot/2.1") == agents.parse(CHROME)


@pytest.mark.parametrize("part", ["Mobile ", "((((", "a/1.1 ", "compatible; ", "\u00e9", "Silk "])
def test_parsing_time_is_bounded(agents, part):
    taken = []
    for number in range(3):  # the best of three: a busy machine slows the others
        start = thread_time()
        agents.parse(f"{number} {part * 100_000}")
        taken.append(thread_time() - start)
    assert min(taken) < 0.1


@given(agent=st.text(max_size=600))
def test_parsing_any_user_agent_never_raises(agents, agent):
    assert agents.parse(agent) == agents.parse(agent)


def test_parser_is_chosen_by_its_url(tmp_path):
    devices = collect_plugins_into_registry().open_adapter(
        "devices", "useragent://?cache_size=5", base_folder=tmp_path
    )
    assert devices.parse(IPHONE).os == "iOS"
