"""A query as a program sends it: the same request as a curl command and as Python, without a key."""

import json
from collections.abc import Mapping
from pprint import pformat
from typing import Any, NamedTuple


class RequestExamples(NamedTuple):
    """One request in two languages; both read the key from the environment."""

    curl: str
    python: str


def build_request_examples(api_url: str, path: str, body: Mapping[str, Any]) -> RequestExamples:
    """Returns the examples of a `POST` request.

    Args:
        api_url: public address of the API with ``/v1``.
        path: below it.
        body: JSON values.
    """
    return RequestExamples(_curl_command(api_url, path, body), _python_program(api_url, path, body))


def _curl_command(api_url: str, path: str, body: Mapping[str, Any]) -> str:
    quoted = json.dumps(body, indent=2, ensure_ascii=False).replace("'", "'\\''")
    return (
        f"curl {api_url}{path} \\\n"
        '  -H "Authorization: Bearer $TOUCHPOINT_KEY" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d '{quoted}'"
    )


def _python_program(api_url: str, path: str, body: Mapping[str, Any]) -> str:
    return (
        "import json\nimport os\nimport urllib.request\n\n"
        f"body = {pformat(dict(body), sort_dicts=False)}\n"
        "request = urllib.request.Request(\n"
        f"    {api_url + path!r},\n"
        "    data=json.dumps(body).encode(),\n"
        '    headers={"Authorization": f"Bearer {os.environ[\'TOUCHPOINT_KEY\']}", "Content-Type": "application/json"},\n'
        ")\n"
        "with urllib.request.urlopen(request) as response:\n"
        "    print(json.load(response))\n"
    )
