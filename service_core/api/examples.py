"""Recorded requests and answers that the OpenAPI document shows as examples."""

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

EXAMPLES_FILE: Final = "examples.json"
"""Operation id -> ``query``, ``path``, ``body``, ``status`` and ``answer`` of one request, each optional."""


@lru_cache(maxsize=1)
def load_examples() -> Mapping[str, Mapping[str, Any]]:
    """Returns the recorded example of each operation."""
    text = files("service_core.api").joinpath(EXAMPLES_FILE).read_text()
    examples: Mapping[str, Mapping[str, Any]] = json.loads(text)
    return examples
