"""Many concurrent streams against the real server for a while: no error, memory flat, tokens counted."""

import asyncio
import time

from common import Report, Server, essay, options, sample_memory, check_flat, stream


async def client(number, server, end, errors, gaps):
    round_ = 0
    while time.monotonic() < end:
        round_ += 1
        last = None

        def event():
            nonlocal last
            now = time.monotonic()
            if last is not None:
                gaps.append(now - last)
            last = now

        tokens = 64 + (number * 37 + round_ * 11) % 193  # of different lengths, so that they end at different times
        try:
            await stream(server.port, essay(tokens, prompt=f"Write a long essay on number {number}."), event)
        except (RuntimeError, OSError) as error:
            errors.append(f"stream {number}, round {round_}: {error}")
    return round_


async def run(server, args, report):
    samples, errors, gaps = [], [], []
    before = server.stats()
    sampler = asyncio.create_task(sample_memory(server.processes, min(1.0, args.seconds / 30), samples))
    begin = time.monotonic()
    rounds = await asyncio.gather(*[client(i, server, begin + args.seconds, errors, gaps) for i in range(args.streams)])
    took = time.monotonic() - begin
    sampler.cancel()
    after = server.stats()
    tokens = after["completion_tokens"] - before["completion_tokens"]
    gaps.sort()
    report.note("streams, seconds, requests", f"{args.streams}, {took:.0f}, {sum(rounds)}")
    report.note("tokens", f"{tokens}, {tokens / took:.0f} tok/s")
    report.note(
        "gap between events p50, p99, max",
        ", ".join(f"{gaps[min(len(gaps) - 1, int(len(gaps) * q))] * 1000:.0f}" for q in (0.5, 0.99, 1)) + " ms",
    )
    report.check("errors", len(errors), "none" if not errors else errors[0][:100], not errors)
    check_flat(report, samples)
    report.check(
        "requests left in the worker",
        after["requests_running"] + after["requests_waiting"],
        "0",
        after["requests_running"] + after["requests_waiting"] == 0,
    )


def main():
    args = options(__doc__, 300, streams=64)
    report = Report(f"{args.streams} concurrent streams")
    with Server() as server:
        asyncio.run(run(server, args, report))
        report.check(
            "processes alive",
            sum(p.poll() is None for p in server.processes.values()),
            "3",
            all(p.poll() is None for p in server.processes.values()),
        )
    report.finish()


if __name__ == "__main__":
    main()
