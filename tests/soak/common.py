"""What the soak programs share: the server of tests/e2e, an event-stream client, memory samples, the table."""

import argparse
import asyncio
import glob
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))

from harness import BIN, ROOT, SHARED_MEMORY, Server, free_port, wait_for  # noqa: E402, F401

MODEL = "hearth-tiny"


def options(description, seconds, **more):
    """`more`: further options with whole numbers as defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=seconds)
    for name, default in more.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=default)
    # A stop from outside takes the way of an exception, so that the server goes and its shared memory with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return parser.parse_args()


class Report:
    """Rows of a table; finish() prints it and ends the program with 1 when a row failed."""

    def __init__(self, title):
        self.title, self.rows, self.failed = title, [], False
        self.load = os.getloadavg()[0]

    def note(self, name, value):
        self.rows.append((name, value, "", ""))

    def check(self, name, value, limit, ok):
        self.rows.append((name, value, limit, "ok" if ok else "FAILED"))
        self.failed = self.failed or not ok

    def finish(self):
        load = f"load average {self.load:.1f} at start, {os.getloadavg()[0]:.1f} now, {os.cpu_count()} cpus"
        print(f"\n{self.title}   ({load})")
        limited = [row for row in self.rows if row[3]]
        widths = [max(len(str(row[i])) for row in (self.rows if i == 0 else limited)) for i in range(3)]
        for name, value, limit, verdict in self.rows:
            print(f"  {name:<{widths[0]}}  {value!s:<{widths[1]}}  {limit!s:<{widths[2]}}  {verdict}".rstrip())
        sys.stdout.flush()
        sys.exit(1 if self.failed else 0)


def rss_mb(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:")) / 1024


def private_mb(pid):
    """Memory of its own: the expert home is shared and counted once its pages are touched, which is no leak."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon:")) / 1024


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def shared_files(server):
    return sorted(os.path.relpath(p, server.home) for p in glob.glob(f"{server.home}/**", recursive=True))


async def sample_memory(processes, every, samples):
    """Appends (seconds, {name: MB}) until it is cancelled."""
    begin = time.monotonic()
    while True:
        samples.append((time.monotonic() - begin, {name: private_mb(p.pid) for name, p in processes.items()}))
        await asyncio.sleep(every)


def check_flat(report, samples):
    """The last fifth against the second one, by their medians: what is still filling at the start does not count."""

    def median(part, name):
        values = sorted(s[1][name] for s in part)
        return values[len(values) // 2]

    fifth = max(1, len(samples) // 5)
    for name in samples[0][1]:
        early, late = median(samples[fifth : 2 * fifth] or samples, name), median(samples[-fifth:], name)
        report.check(
            f"private memory of {name}", f"{early:.1f} -> {late:.1f} MB", "grows < 5 % + 4 MB", late <= early * 1.05 + 4
        )


def request_bytes(path, body, **headers):
    data = json.dumps(body).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: soak",
        "Content-Type: application/json",
        f"Content-Length: {len(data)}",
        "Connection: close",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def essay(tokens, **fields):
    return {
        "model": MODEL,
        "prompt": "Write a long essay on the sea.",
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        **fields,
    }


async def stream(port, body, on_event=lambda: None, path="/v1/completions", **headers):
    """Reads a stream to its end -> number of events. Raises when it is not a whole stream without errors."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        writer.write(request_bytes(path, body, **headers))
        status = await reader.readline()
        if b" 200 " not in status:
            raise RuntimeError(f"{status!r} {(await reader.read(2000))!r}")
        events, done = 0, False
        async for line in reader:
            if not line.startswith(b"data: "):
                continue
            if line.startswith(b"data: [DONE]"):
                done = True
            elif b'"error"' in line:
                raise RuntimeError(line.decode())
            elif b'"choices"' in line:
                events += 1
                on_event()
        if not done:
            raise RuntimeError("the stream ended without [DONE]")
        return events
    finally:
        writer.close()
