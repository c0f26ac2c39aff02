"""What the gateway adds to a token: a fake worker sends to many streams at a steady rate.

The time from chunk received to socket written comes from the gateway's own histogram; the way from the worker's send to
the client's read comes from this machine's clock, and has in it what the Python of both ends takes.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from common import BIN, ROOT, Report, essay, free_port, options, stream, wait_for

FAMILY = "hearth_chunk_write_seconds"


def buckets(port):
    """-> [(upper bound, count so far)]"""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        text = response.read().decode()
    found = re.findall(rf'^{FAMILY}_bucket{{le="([^"]+)"}} (\S+)$', text, re.M)
    return [(float("inf") if le == "+Inf" else float(le), float(count)) for le, count in found]


def quantile(counts, q):
    """Within a bucket by straight line, as Prometheus does it."""
    total = counts[-1][1]
    low, below = 0.0, 0.0
    for bound, count in counts:
        if count >= total * q:
            return (
                low if bound == float("inf") else low + (bound - low) * (total * q - below) / max(1e-9, count - below)
            )
        low, below = bound, count
    return low


def healthy(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as response:
            return response.status == 200
    except OSError:
        return False


async def read_all(port, args, received):
    async def one(number):
        times = received.setdefault(f"soak-{number}", [])
        await asyncio.sleep(number / args.streams / args.rate)  # spread over a period, as independent streams are
        tokens = int(args.seconds * args.rate)
        return await stream(port, essay(tokens), lambda: times.append(time.monotonic()), x_request_id=f"soak-{number}")

    return await asyncio.gather(*[one(i) for i in range(args.streams)])


def way(path, received):
    """Sorted seconds from the worker's send to the client's read, of the tokens that made an event of their own."""
    sent = {}
    with open(path) as f:
        for line in f:
            name, number, at = line.split()
            sent[name, int(number)] = float(at)
    return sorted(
        at - sent[name, i] for name, times in received.items() for i, at in enumerate(times) if (name, i) in sent
    )


def main():
    args = options(__doc__, 30, streams=64, rate=30)
    report = Report(f"{args.streams} streams of {args.rate} tok/s through the gateway")
    folder = tempfile.mkdtemp(prefix="hearth-test.")
    port, address, received, processes = free_port(), f"unix:{folder}/w.sock", {}, []
    try:
        with open(f"{folder}/gateway.log", "w") as log:
            processes.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        f"{ROOT}/tests/clients/fake_worker.py",
                        address,
                        "--tokens-per-second",
                        str(args.rate),
                        "--send-times",
                        f"{folder}/sent",
                    ]
                )
            )
            processes.append(
                subprocess.Popen(
                    [f"{BIN}/hearth-gateway", "--port", str(port), "--worker", address], stdout=log, stderr=log
                )
            )
        wait_for(lambda: healthy(port), 30, "the gateway is ready")
        before = dict(buckets(port))
        cpu_before = os.times()
        begin = time.monotonic()
        events = asyncio.run(read_all(port, args, received))
        took = time.monotonic() - begin
        counts = [(bound, count - before[bound]) for bound, count in buckets(port)]
        with open(f"/proc/{processes[1].pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        processes[0].terminate()
        processes[0].wait()
        ways = way(f"{folder}/sent", received)
    finally:
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    wanted = args.streams * int(args.seconds * args.rate)
    report.note("seconds, tokens, tok/s", f"{took:.1f}, {counts[-1][1]:.0f}, {counts[-1][1] / took:.0f}")
    report.note("CPU of the gateway", f"{(int(fields[11]) + int(fields[12])) / took:.0f} %")
    report.note("CPU of this client", f"{100 * (os.times().user - cpu_before.user) / took:.0f} %")
    report.check("chunks in the histogram", f"{counts[-1][1]:.0f}", f"{wanted}", counts[-1][1] == wanted)
    report.check("events read", sum(events), f">= {wanted}", sum(events) >= wanted)
    for q, limit in ((0.5, None), (0.99, 0.002)):
        value = quantile(counts, q)
        name = f"{FAMILY} p{q * 100:.0f}"
        if limit is None:
            report.note(name, f"{value * 1000:.2f} ms")
        else:
            report.check(name, f"{value * 1000:.2f} ms", f"<= {limit * 1000:.0f} ms", value <= limit)
    if ways:
        report.note(
            "worker's send to client's read p50, p99, max",
            ", ".join(f"{ways[min(len(ways) - 1, int(len(ways) * q))] * 1000:.1f}" for q in (0.5, 0.99, 1)) + " ms",
        )
    report.finish()


if __name__ == "__main__":
    main()
