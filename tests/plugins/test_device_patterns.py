"""Ordered lists of patterns: the first match, lookarounds and their time limit."""

from importlib import import_module
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

EXPRESSIONS = [
    "Chrome(?!book)",
    "Foo|(?<!like )Bar(?! Browser)|Baz",
    "(?:A1|B2(?!x)|C3)(?:[;)]|$)",
    "[(|]x",
    "Tab",
]


@pytest.fixture(scope="module")
def pattern_list():
    """The module under test, whose packages take a while to load."""
    return import_module("plugins.devices_useragent.pattern_list")


@pytest.fixture(scope="module")
def patterns(pattern_list):
    """A list of `EXPRESSIONS`."""
    return pattern_list.PatternList(map(pattern_list.Pattern, EXPRESSIONS))


@pytest.mark.parametrize(
    ("agent", "index"),
    [
        ("Chromebook", None),
        ("Chrome/1", 0),
        ("x chromebook chrome", 0),
        ("like Bar", None),
        ("foo like bar", 1),
        ("bar browser bar", 1),
        ("achrome", None),
        ("b2x)", None),
        ("b2)", 2),
        ("c3", 2),
        ("c3d", None),
        ("(x", 3),
        ("tab bar", 1),
        ("a1-tab", None),
        (" _tab", 4),
        ("x_tab", None),
    ],
)
def test_first_pattern_matches_at_the_start_of_a_word(pattern_list, patterns, agent, index):
    match = patterns.first_match(pattern_list.normalize_user_agent(agent))
    assert (match.index if match else None) == index


@given(agent=st.text(alphabet="ab12xBFoar;) (_-", max_size=30))
def test_matches_are_those_of_one_engine_with_lookarounds(pattern_list, patterns, agent):
    regex = pattern_list.regex
    normalized = pattern_list.normalize_user_agent(agent)
    boundary = "(?:^|[^A-Z0-9_-]|[^A-Z0-9-]_|sprd-|MZ-)"
    expected = [
        index
        for index, expression in enumerate(EXPRESSIONS)
        if regex.search(f"{boundary}(?:{expression})", normalized, regex.IGNORECASE)
    ]
    match = patterns.first_match(normalized)
    assert (match.index if match else None) == (expected[0] if expected else None)


@pytest.mark.parametrize("expression", [r"Ver(\d)(b)?", r"Ver(\d)(b)?(?!c)"])
def test_texts_are_filled_with_the_groups(pattern_list, expression):
    patterns = pattern_list.PatternList([pattern_list.Pattern(expression, r"\g<1>.\g<2>", r"n\g<1>")])
    assert patterns.first_match("ver7b") == pattern_list.PatternMatch(0, "7.b", "n7")
    assert patterns.first_match("ver7").version.rstrip(".") == "7"


def test_pattern_that_takes_too_long_does_not_match(pattern_list):
    patterns = pattern_list.PatternList(map(pattern_list.Pattern, ["(?:a+)+(?!a)$", "a"]))
    start = thread_time()
    assert patterns.first_match("a" * 500 + "b").index == 1
    assert thread_time() - start < 0.1
