"""Semantics 13.3: what somebody wrote becomes the hash that platforms compare, or nothing."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.delivery.postbacks import hashing

ADA = "b5fc85e55755f9e0d030a10ab4429b6b2944855f9a0d60077fe832becbc41d72"
DIGITS = "d6736136ea896c1bfdc553e0e86e702c70d060d805696ca3e4e9e0961353860a"
E164 = "8a59780bb8cd2ba022bfa5ba2ea3b6e07af17a7d8b30c1f9b3390e36f69019e4"
HASHES = (
    hashing.hash_id, hashing.hash_email, hashing.hash_name, hashing.hash_place, hashing.hash_country, hashing.hash_postal_code,
    hashing.hash_gender, hashing.hash_birth_date, lambda text: hashing.hash_phone(text, plus=True),
    lambda text: hashing.hash_phone(text, plus=False),
)  # fmt: skip


def sha256_of(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_hashes_have_golden_values():
    assert hashing.hash_email(" Ada@Example.com ") == ADA
    assert hashing.hash_phone("+1 (555) 123-4567", plus=False) == DIGITS
    assert hashing.hash_phone("+1 (555) 123-4567", plus=True) == E164


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (hashing.hash_email("John_Smith@gmail.com"), "62a14e44f765419d10fea99367361a727c12365e2520f32218d505ed9aa0f62f"),
        (hashing.hash_phone("1 (650)555-1212", plus=False), "e323ec626319ca94ee8bff2e4c87cf613be6ea19919ed1364124e16807ab3176"),
        (hashing.hash_name("Mary"), "6915771be1c5aa0c886870b6951b03d7eafc121fea0e80a5ea83beb7c449f4ec"),
        (hashing.hash_name("정"), "8fa8cd9c440be61d0151429310034083132b35975c4bea67fdd74158eb51db14"),
        (hashing.hash_name("Valéry"), "08e1996b5dd49e62a4b4c010d44e4345592a863bb9f8e3976219bac29417149c"),
    ],
)  # fmt: skip
def test_examples_meta_publishes(found, expected):
    assert found == expected


@pytest.mark.parametrize(
    "written", ["+15551234567", "0015551234567", "1-555-123-4567", "+1.555.123.4567", "+١٥٥٥١٢٣٤٥٦٧"]
)
def test_phone_number_formats_have_one_hash(written):
    assert hashing.hash_phone(written, plus=True) == E164
    assert hashing.hash_phone(written, plus=False) == DIGITS


def test_national_prefix_zero_is_removed():
    assert hashing.hash_phone("+44 (0) 20 7946 0018", plus=True) == sha256_of("+442079460018")


@pytest.mark.parametrize("written", ["020 7946 0018", "12345", "+1555123456789012", "call me", "+", ""])
def test_phone_number_without_a_country_code_is_not_hashed(written):
    assert hashing.hash_phone(written, plus=True) is None
    assert hashing.hash_phone(written, plus=False) is None


@pytest.mark.parametrize(
    ("found", "plain"),
    [
        (hashing.hash_name(" O'Neil-Smith 3rd "), "oneilsmithrd"),
        (hashing.hash_name("Vale\u0301ry"), "valéry"),
        (hashing.hash_name("हिन्दी"), "हिन्दी"),
        (hashing.hash_place("St. Gallen"), "stgallen"),
        (hashing.hash_place("CA"), "ca"),
        (hashing.hash_country(" DE "), "de"),
        (hashing.hash_postal_code("94035-1234"), "94035"),
        (hashing.hash_postal_code("EC1A 1BB"), "ec1a1bb"),
        (hashing.hash_postal_code("00-950"), "00950"),
        (hashing.hash_gender("Female"), "f"),
        (hashing.hash_gender(" M "), "m"),
        (hashing.hash_birth_date("1990-02-28"), "19900228"),
        (hashing.hash_birth_date("19900228"), "19900228"),
        (hashing.hash_id(" User_1 "), "user_1"),
    ],
)
def test_each_field_has_its_own_normalisation(found, plain):
    assert found == sha256_of(plain)


@pytest.mark.parametrize(
    "found",
    [
        hashing.hash_email("ada"), hashing.hash_name("42"), hashing.hash_place("--"), hashing.hash_country("Germany"), hashing.hash_gender("x"),
        hashing.hash_birth_date("1990-02-30"), hashing.hash_birth_date("once"), hashing.hash_postal_code("-"),
    ],
)  # fmt: skip
def test_unusable_values_are_not_hashed(found):
    assert found is None


@pytest.mark.parametrize("hashed", HASHES)
def test_none_stays_none_and_a_hash_is_not_hashed_again(hashed):
    assert [hashed(text) for text in (None, "", "  \t")] == [None] * 3
    assert hashed(f" {ADA.upper()} ") == ADA


@given(st.text())
def test_hash_of_any_text_has_64_digits_and_is_stable(text):
    for hashed in HASHES:
        found = hashed(text)
        assert found is None or (len(found) == 64 and hashed(found) == found)


@given(st.text(), st.sampled_from([" ", "\t", "\n", ""]))
def test_surrounding_spaces_are_ignored(text, space):
    for hashed in HASHES:
        assert hashed(f"{space}{text}{space}") == hashed(text)


@given(st.integers(10**9, 10**14))
def test_both_phone_formats_contain_the_same_digits(number):
    assert hashing.hash_phone(f"+{number}", plus=True) == sha256_of(f"+{number}")
    assert hashing.hash_phone(f"{number}", plus=False) == sha256_of(f"{number}")
