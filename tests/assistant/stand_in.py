"""Stands in for a model: a process that answers one question rightly, with the tool, and the others that nobody knows."""

import json
import sys
from urllib.request import Request, urlopen

asked = json.load(sys.stdin)
call = {
    "name": "query",
    "arguments": {"metrics": ["visitors"], "start_date": "2026-06-01", "end_date": "2026-06-30"},
}
message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
headers = {
    "content-type": "application/json",
    "accept": "application/json",
    "authorization": f"Bearer {asked['token']}",
}
sys.stdout.write("Let me see.\n")
if asked["question"].startswith("How many visitors came, 2026-06-01"):
    with urlopen(Request(asked["mcp_url"], json.dumps(message).encode(), headers), timeout=60) as answer:
        text = json.load(answer)["result"]["content"][0]["text"]
    sys.stdout.write(json.dumps({"answer": json.loads(text)["totals"]["visitors"]}) + "\n")
elif asked["question"].startswith("How many of them were new"):
    sys.stdout.write(json.dumps({"answer": 1}) + "\n")
else:
    sys.stdout.write(json.dumps({"answer": None, "unknown": "no idea"}) + "\n")
