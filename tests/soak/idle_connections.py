"""Connections that do nothing, or read or send one byte a second, must not slow the streams beside them.

Healthy streams run alone and beside the others, in turn; what counts is the medians of tokens a second of all rounds,
since the machine's own load changes between them."""

import asyncio
import time

from common import Report, Server, essay, options, request_bytes, stream


async def idle(port, hold):
    """Opens and says nothing, again whenever the server has had enough of it."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            hold.add(writer)
            await reader.read()
            hold.discard(writer)
            writer.close()
        except OSError:
            await asyncio.sleep(0.2)


async def slow_reader(port, hold):
    """Asks for a stream, then reads a byte a second with the smallest buffers there are."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
            hold.add(writer)
            writer.write(request_bytes("/v1/completions", essay(2)))
            while await reader.read(1):
                await asyncio.sleep(1)
            hold.discard(writer)
            writer.close()
        except OSError:
            await asyncio.sleep(0.2)


async def slow_sender(port, hold):
    """Sends its request a byte a second, again whenever the server has had enough of it."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            hold.add(writer)
            for byte in request_bytes("/v1/completions", essay(2)):
                writer.write(bytes([byte]))
                await asyncio.sleep(1)
                if writer.transport.is_closing() or reader.at_eof():
                    break
            hold.discard(writer)
            writer.close()
        except OSError:
            await asyncio.sleep(0.2)


async def healthy(port, streams, tokens):
    begin = time.monotonic()
    await asyncio.gather(*[stream(port, essay(tokens)) for _ in range(streams)])
    return streams * tokens / (time.monotonic() - begin)


async def open_them(port, args, hold):
    tasks = []
    for i in range(args.connections):
        tasks.append(asyncio.create_task((idle, slow_reader, slow_sender)[i % 3](port, hold)))
        if i % 50 == 49:
            await asyncio.sleep(0.05)
    for _ in range(200):
        if len(hold) >= args.connections * 0.95:
            break
        await asyncio.sleep(0.1)
    await asyncio.sleep(2)  # the short streams of the slow readers are generated
    return tasks


async def close_them(tasks, hold):
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for writer in hold:
        writer.close()
    hold.clear()
    await asyncio.sleep(0.5)


def median(values):
    return sorted(values)[len(values) // 2]


async def run(port, args, report):
    await healthy(port, args.streams, args.tokens)  # warm
    alone, beside, held = [], [], []
    end = time.monotonic() + args.seconds
    while time.monotonic() < end or len(beside) < 3:
        alone.append(await healthy(port, args.streams, args.tokens))
        hold = set()
        tasks = await open_them(port, args, hold)
        held.append(len(hold))
        beside.append(await healthy(port, args.streams, args.tokens))
        await close_them(tasks, hold)
    report.note("rounds, connections held", f"{len(alone)}, {min(held)} of {args.connections}")
    report.note("alone, tok/s", " ".join(f"{v:.0f}" for v in alone))
    report.note("beside, tok/s", " ".join(f"{v:.0f}" for v in beside))
    slower = 1 - median(beside) / median(alone)
    report.check("slower beside them (medians)", f"{slower * 100:.1f} %", "<= 10 %", slower <= 0.10)
    report.check(
        "least connections held", min(held), f">= {int(args.connections * 0.95)}", min(held) >= args.connections * 0.95
    )


def main():
    args = options(__doc__, 60, connections=500, streams=4, tokens=400)
    report = Report(f"{args.streams} streams beside {args.connections} idle and slow connections")
    with Server() as server:
        asyncio.run(run(server.port, args, report))
    report.finish()


if __name__ == "__main__":
    main()
