"""A server of the Messages API that gives one fixed reply, and notes when each request came and was answered.

Kept as cheap as can be, since it shares the machine with what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import time
from collections import defaultdict
from pathlib import Path

from coordination.usage import Usage
from harness.scripted.model import Answer
from harness.scripted.wire import completed, streamed

TOOL = "read_file"
MODEL = "scripted"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n%s\r\n\r\n"
STREAM = re.compile(rb'"stream":\s*true')


class FixedModel:
    """Calls one tool until it was asked as often as the key says (`NAME:TURNS`); then says that it is done.

    `/watch/KEY/PID` says whose CPU time counts for a key; `/times/KEY` lists for each request when it had
    come, when the answer began, and the CPU seconds of that process by then.
    """

    def __init__(self, latency_seconds: float) -> None:
        self._latency = latency_seconds
        self._times: dict[str, list[tuple[float, float, float]]] = defaultdict(list)  # by key; see `/times`
        self._pids: dict[str, int] = {}
        self._ready: dict[tuple[bool, bool], bytes] = {
            (last, stream): _reply(last=last, stream=stream)
            for last in (False, True)
            for stream in (False, True)
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        arrived = time.monotonic()
        path = first.split(" ")[1]
        if path.startswith("/times/"):
            writer.write(_json(self._times[path.removeprefix("/times/")]))
        elif path.startswith("/watch/"):
            key, pid = path.removeprefix("/watch/").split("/")
            self._pids[key] = int(pid)
            writer.write(_json({}))
        elif path.partition("?")[0].endswith("/messages"):
            key = headers.get("authorization", "").removeprefix("Bearer ")
            times, used = self._times[key], _cpu_seconds(self._pids.get(key))
            await asyncio.sleep(self._latency)
            last, stream = len(times) + 1 >= int(key.rpartition(":")[2]), bool(STREAM.search(body))
            answered = time.monotonic()
            writer.write(self._ready[last, stream].replace(b"toolu_0000", b"toolu_%04d" % len(times)))
            await writer.drain()
            times.append((arrived, answered, used))
        else:
            writer.write(_json({"input_tokens": 100}))


def _cpu_seconds(pid: int | None) -> float:
    """What a process and its threads have used; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _reply(*, last: bool, stream: bool) -> bytes:
    call = {"type": "tool_use", "id": "toolu_0000", "name": TOOL, "input": {"path": "a.py"}}
    content = [{"type": "text", "text": "done"}] if last else [call]
    answer = Answer(
        content=content,
        stop_reason="end_turn" if last else "tool_use",
        usage=Usage(calls=1, input_tokens=10, output_tokens=5),
        counts_input=False,
        delay_seconds=0.0,
        fault=None,
    )
    if not stream:
        return _json(completed(answer, MODEL))
    return HEAD % (b"text/event-stream", b"transfer-encoding: chunked") + streamed(answer, MODEL)


def _json(value: object) -> bytes:
    body = json.dumps(value).encode()
    return HEAD % (b"application/json", b"content-length: %d" % len(body)) + body


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency-ms", type=float, default=5.0)
    options = parser.parse_args()
    model = FixedModel(options.latency_ms / 1000)
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0, limit=1 << 25)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until whoever started it is gone


if __name__ == "__main__":
    asyncio.run(main())
