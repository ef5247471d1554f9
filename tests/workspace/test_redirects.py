"""Where a link leads a request: the query of the target."""

from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.workspace.links.redirect import Redirect

LYR = "k7m2q9xa"
UTM = {"utm_source": "insta", "utm_campaign": "spring sale"}
IPAD, ANDROID = "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X)", "Mozilla/5.0 (Linux; Android 15; Pixel 9)"
PLAY = "https://play.google.com/store/apps/details?id=com.example"


def make_redirect(destination="https://example.com/a", utm=UTM, ios=None, android=None):
    return Redirect(
        workspace_id=uuid4(), link_id=uuid4(), lyr=LYR, destination_url=destination, ios_url=ios,
        android_url=android, utm=utm,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("destination", "query", "location"),
    [
        ("https://example.com/a", "", f"https://example.com/a?lyr={LYR}&utm_source=insta&utm_campaign=spring+sale"),
        ("https://example.com", "", f"https://example.com?lyr={LYR}&utm_source=insta&utm_campaign=spring+sale"),
        (
            "https://example.com/a?q=1%202&utm_source=own#top", "utm_source=x&gclid=Cj0&q=3",
            f"https://example.com/a?q=1%202&utm_source=own&gclid=Cj0&lyr={LYR}&utm_campaign=spring+sale#top",
        ),
        (
            "https://example.com/a", "utm_source=theirs&utm_campaign=",
            f"https://example.com/a?utm_source=theirs&utm_campaign=&lyr={LYR}",
        ),
        ("https://example.com/a?lyr=mine&x=", "lyr=forged", f"https://example.com/a?x=&lyr={LYR}&utm_source=insta&utm_campaign=spring+sale"),
        (
            "https://example.com/a", "tag=a&tag=b&flag",
            f"https://example.com/a?tag=a&tag=b&flag=&lyr={LYR}&utm_source=insta&utm_campaign=spring+sale",
        ),
    ],
    ids=["plain", "no path", "own first", "then the request's", "lyr is the link's", "repeated"],
)  # fmt: skip
def test_parameter_precedence_is_destination_request_link(destination, query, location):
    assert make_redirect(destination).target_url(query, None) == location


@pytest.mark.parametrize(
    ("destination", "location"),
    [
        ("https://example.com/ä%20b", f"https://example.com/%C3%A4%20b?lyr={LYR}"),
        ("https://münchen.example/?q=ä#ö", f"https://xn--mnchen-3ya.example/?q=%C3%A4&lyr={LYR}#%C3%B6"),
        (f"https://{'ä' * 70}.example/", f"https://{'%C3%A4' * 70}.example/?lyr={LYR}"),
    ],
    ids=["path", "host", "a host that is none"],
)
def test_location_header_is_ascii(destination, location):
    assert make_redirect(destination, utm={}).target_url("", None) == location


def test_target_depends_on_the_device():
    both = make_redirect(ios="https://example.com/ios", android="https://example.com/android", utm={})
    assert both.target_url("", IPAD) == f"https://example.com/ios?lyr={LYR}"
    assert both.target_url("", ANDROID) == f"https://example.com/android?lyr={LYR}"
    assert both.target_url("", "Mozilla/5.0 (Macintosh)") == f"https://example.com/a?lyr={LYR}"
    assert make_redirect(utm={}).target_url("", IPAD) == f"https://example.com/a?lyr={LYR}"


def play_store_referrer(location):
    """The one referrer parameter of a Play Store address, decoded."""
    (found,) = [value for name, value in parse_qsl(urlsplit(location).query) if name == "referrer"]
    return dict(parse_qsl(found))


@pytest.mark.parametrize(
    "target", [PLAY, "market://details?id=com.example", "https://market.android.com/details?id=x"]
)
def test_play_store_url_has_one_referrer(target):
    sent = "fbclid=Fb1&gclid=Cj0&utm_medium=paid&referrer=forged&lyr=forged"
    location = make_redirect(android=target).target_url(sent, ANDROID)
    assert play_store_referrer(location) == UTM | {
        "lyr": LYR, "utm_medium": "paid", "tp_click_id": "Fb1", "tp_click_id_type": "fbclid",
    }  # fmt: skip


def test_referrer_of_the_target_is_kept_with_the_tag_added():
    target = f"{PLAY}&referrer=utm_source%3Down%26lyr%3Dother"
    assert play_store_referrer(make_redirect(android=target).target_url("", ANDROID)) == UTM | {
        "lyr": LYR,
        "utm_source": "own",
    }


TEXT = st.text(st.characters(codec="latin-1"), max_size=30)


@given(query=TEXT, agent=st.none() | TEXT)
def test_any_request_redirects_to_the_destination_with_the_tag(query, agent):
    location = make_redirect("https://example.com/a?own=1#top", ios="https://example.com/i").target_url(
        query, agent
    )
    parts = urlsplit(location)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "example.com", "top")
    assert location.isascii()
    assert location.isprintable()
    named = parse_qsl(parts.query, keep_blank_values=True)
    assert [value for name, value in named if name == "lyr"] == [LYR]
    assert named[0] == ("own", "1")


@given(pairs=st.lists(st.tuples(TEXT.filter(bool), TEXT), max_size=5))
def test_request_parameters_are_passed_through_unchanged(pairs):
    sent = "&".join(f"{escape_query_value(name)}={escape_query_value(value)}" for name, value in pairs)
    kept = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs if name != "lyr"]
    query = urlsplit(make_redirect(utm={}).target_url(sent, None)).query
    arrived = parse_qsl(query, keep_blank_values=True, encoding="latin-1")
    assert [(n.encode("latin-1"), v.encode("latin-1")) for n, v in arrived if n != "lyr"] == kept


def escape_query_value(text):
    return "".join(f"%{byte:02X}" for byte in text.encode("latin-1"))
