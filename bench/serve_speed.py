#!/usr/bin/env python3
"""How fast does a server on this machine decode, prefill and start, and what does it cost when idle?

  serve_speed.py [--bin build/release/bin] [--reps 7] [--out FILE.json] [worker flags ...]

Starts the three processes on hearth-tiny (or -m DIR), measures through HTTP with one stream, prints medians and spread:

  start    process start to the first healthy /health, with a fresh expert home and with an adopted one
  decode   tokens per second between the first and the last of 512 generated tokens
  prefill  tokens per second of a 1,024-token prompt, request sent to first token received
  idle     CPU time of all three processes, in percent of one core, over 10 s after the load

Nothing else should run on the machine: the load average is printed with the result. Standard library only.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time

from own_server import harness, started, use_programs
from server_client import ServerError, positive, result_file

DECODE_TOKENS, PREFILL_TOKENS = 512, 1024


def cpu_name():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), platform.machine())


def cpu_seconds(server):
    total = 0
    for process in server.processes.values():
        with open(f"/proc/{process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def timed_stream(server, prompt, tokens):
    """-> seconds to the first and to the last event that carries a token, tokens generated."""
    body = {"input_ids": prompt, "stream": True,
            "sampling_params": {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}}
    times, count = [], 0
    for at, event in server.stream("/generate", body):
        if event != "[DONE]":
            times.append(at)
            count = event["meta_info"]["completion_tokens"]
    return times[0], times[-1], count


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "reps": len(values)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("--bin", default=harness.BIN)
    parser.add_argument("--model", "-m", default=harness.MODEL)
    parser.add_argument("--reps", type=positive(int), default=7)
    parser.add_argument("--out", type=result_file)
    args, worker_flags = parser.parse_known_args()
    use_programs(parser, args.bin)
    load_before = os.getloadavg()[0]

    item = harness.panel()["book"]
    prompt = item["tokens"][:64]
    long_prompt = (harness.panel()["needle"]["tokens"] + item["tokens"])[:PREFILL_TOKENS]
    starts, decode, prefill = [], [], []
    for _ in range(3):
        begin = time.monotonic()
        with started(worker_flags=worker_flags, model=args.model, tier=False):
            starts.append(time.monotonic() - begin)
    with started(worker_flags=worker_flags, model=args.model) as server:
        timed_stream(server, prompt, 32)
        for _ in range(args.reps):
            first, last, count = timed_stream(server, prompt, DECODE_TOKENS)
            decode.append((count - 1) / (last - first))
            prefill.append(PREFILL_TOKENS / timed_stream(server, long_prompt, 1)[0])
        time.sleep(2)
        before = cpu_seconds(server)
        time.sleep(10)
        idle = (cpu_seconds(server) - before) / 10 * 100
        server.kill("worker")
        harness.wait_for(lambda: server.health()[0] == 503, 5, "the gateway notices")
        begin = time.monotonic()
        server.start("worker")
        server.wait_ready()
        adopted = time.monotonic() - begin

    result = {
        "machine": f"{cpu_name()}, {os.cpu_count()} CPUs", "load_average_before": load_before, "flags": worker_flags,
        "start_seconds": summary(starts), "start_adopted_seconds": adopted,
        "decode_tokens_per_second": summary(decode), "prefill_tokens_per_second": summary(prefill),
        "idle_cpu_percent": idle,
    }
    print(f"machine            {result['machine']}, load average before {load_before:.2f}")
    for name, unit in (("start_seconds", "s"), ("decode_tokens_per_second", "tok/s"),
                       ("prefill_tokens_per_second", "tok/s")):
        s = result[name]
        print(f"{name.split('_')[0]:<18} {s['median']:.2f} {unit} (median of {s['reps']}, {s['min']:.2f} to {s['max']:.2f})")
    print(f"start, adopted     {adopted:.2f} s")
    print(f"idle               {idle:.2f} % of one core, three processes")
    if args.out:
        with open(args.out, "w") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    try:
        main()
    except ServerError as error:
        print(f"serve_speed: {error}", file=sys.stderr)
        sys.exit(2)
