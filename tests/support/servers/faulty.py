"""An MCP server over stdio with every fault that a host has to bear, by hand so that it may break the rules.

`python faulty.py [WORD…]`: `banner` prints lines that are no protocol; `pages` lists 45 tools by 20;
`silent` never answers; `child` leaves a grandchild behind; `stubborn` ignores the end of its input.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WORDS = set(sys.argv[1:])
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
COUNT = {"type": "object", "properties": {"count": {"type": "integer", "minimum": 0}}, "required": ["count"]}
FORECAST = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["place", "days"],
}
TOOLS = [
    {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object"}},
    {"name": "forecast", "description": "The weather.", "inputSchema": FORECAST},
    {"name": "admin.users.list", "description": "Users.", "inputSchema": OBJECT},
    {"name": "count", "description": "Counts.", "inputSchema": {"type": "object"}, "outputSchema": COUNT},
    {"name": "fails", "description": "Fails.", "inputSchema": OBJECT},
    {"name": "raw", "description": "Answers with what it is given.", "inputSchema": {"type": "object"}},
    {"name": "slow", "description": "Takes seconds.", "inputSchema": {"type": "object"}},
    {"name": "hang", "description": "Never answers.", "inputSchema": OBJECT},
    {"name": "die", "description": "Dies.", "inputSchema": OBJECT},
    {"name": "huge", "description": "Says much.", "inputSchema": OBJECT},
    {"name": "image", "description": "Shows.", "inputSchema": OBJECT},
    {"name": "rename", "description": "Changes the list.", "inputSchema": OBJECT},
    {"name": "a.b", "description": "Collides.", "inputSchema": OBJECT},
    {"name": "a_b", "description": "Collides.", "inputSchema": OBJECT},
    {"name": "n" * 70, "description": "Too long.", "inputSchema": OBJECT},
    {"name": "bad", "description": "Bad schema.", "inputSchema": {"type": 5}},
]


def say(message: dict[str, Any]) -> None:
    if "banner" in WORDS:
        print("~~ a banner between messages ~~", flush=True)
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def listed(cursor: str | None) -> dict[str, Any]:
    if "pages" not in WORDS:
        description = Path(os.environ["DESCRIPTION"]).read_text() if "DESCRIPTION" in os.environ else None
        return {
            "tools": [{**tool, **({"description": description} if description else {})} for tool in TOOLS]
        }
    names = [f"tool_{number}" for number in range(45)]
    start = int(cursor or 0)
    page = [{"name": name, "inputSchema": OBJECT} for name in names[start : start + 20]]
    return {"tools": page, **({"nextCursor": str(start + 20)} if start + 20 < len(names) else {})}


def note(message: dict[str, Any]) -> None:
    """For a test that wants to know what came."""
    if "NOTES" in os.environ:
        with Path(os.environ["NOTES"]).open("a") as notes:
            notes.write(json.dumps(message) + "\n")


def call(identity: Any, name: str, given: dict[str, Any], token: Any) -> None:
    for step in range(given.get("steps", 0)):
        progress = {"progressToken": token, "progress": step + 1, "message": f"step {step + 1}"}
        say({"method": "notifications/progress", "params": progress})
    match name:
        case "hang":
            pass
        case "raw":
            print(json.dumps(given["response"]).replace('"$id"', json.dumps(identity)), flush=True)
        case "slow":
            time.sleep(given.get("seconds", 30))
            say({"id": identity, "result": text(f"slept {given.get('token')}")})
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "huge":
            say({"id": identity, "result": text("x" * 200_000)})
        case "fails":
            say({"id": identity, "result": text("no such place", isError=True)})
        case "count":
            say({"id": identity, "result": text("counted", structuredContent=given)})
        case "image":
            block = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
            link = {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt"}
            say({"id": identity, "result": {"content": [block, link]}})
        case "rename":
            TOOLS[0]["name"] = "shout"
            say({"method": "notifications/tools/list_changed"})
            say({"id": identity, "result": text("renamed")})
        case _:
            say({"id": identity, "result": text(json.dumps(given, sort_keys=True))})


def main() -> None:
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in WORDS:  # one in the group of the server, one in a session of its own
        for alone in (False, True):
            subprocess.Popen(["sleep", os.environ["SLEEP"]], start_new_session=alone)
    if "banner" in WORDS:
        print("Welcome to the faulty server!", flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        identity, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        note(message)
        if "silent" in WORDS or identity is None or method is None:
            continue
        if method == "initialize":
            facts = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}}
            info = {"name": "faulty", "version": "1.0"}
            say({"id": identity, "result": {**facts, "serverInfo": info, "instructions": "Mind the gap."}})
        elif method == "tools/list":
            say({"id": identity, "result": listed(params.get("cursor"))})
        elif method == "tools/call":
            token = (params.get("_meta") or {}).get("progressToken")
            call(identity, params["name"], params.get("arguments") or {}, token)
        else:
            say({"id": identity, "error": {"code": -32601, "message": "no such method"}})
    while "stubborn" in WORDS:
        time.sleep(1)


if __name__ == "__main__":
    main()
