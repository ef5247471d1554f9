"""A JSON text made harmless says the same with other characters, whatever is escaped in it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from service_core.ingestion.sanitize_json import sanitize_json_bytes

TEXTS = st.lists(st.sampled_from(["\0", "\\", "u0000", '"', "é", "a"]), max_size=12).map("".join) | st.text()


@given(st.dictionaries(TEXTS, st.lists(TEXTS, max_size=3), max_size=3))
def test_nul_becomes_the_replacement_character_and_nothing_else_changes(value):
    cleaned = json.loads(sanitize_json_bytes(json.dumps(list(value.items())).encode()))
    assert cleaned == [
        [sanitized_reference(name), [sanitized_reference(text) for text in texts]]
        for name, texts in value.items()
    ]


def sanitized_reference(text):
    return text.replace("\0", "\ufffd")
