#!/usr/bin/env python3
"""Does a stream arrive while it is generated, or does it lag behind and come in one burst at the end?

  stream_rate.py [--url http://127.0.0.1:30000]

One long greedy answer is streamed from each endpoint (OpenAI chat, SGLang /generate). With c(t) the characters that
have arrived by time t after the first:

  half_share  c at half of the time between first and last event, as a share of all; about 0.5 when the rate is even
  tail_share  share that arrives in the last second; large when the end is flushed

Passes when half_share >= 0.40 and tail_share <= 0.10 on both. A small model ends its answer so early that the last
second is most of it: an answer that takes less than --span seconds is asked for again, beyond its end token
("ignore_eos"), with as many tokens as that span needs. Standard library only. Exit codes: 0 passed, 1 failed, 2 cannot
be measured.
"""

import argparse
import json
import sys

from server_client import Server, ServerError, glm_prompt, positive, print_table, result_file

QUESTION = "Write a long essay of at least 1500 words about the history of printing, from woodblocks to lasers."
LEAST_HALF, LARGEST_TAIL = 0.40, 0.10
MOST_ATTEMPTS = 5


def chat_points(server, model, extra):
    """-> [(time, characters so far)], one per event that carries text."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": QUESTION}],
        "temperature": 0,
        "chat_template_kwargs": {"enable_thinking": False},
        **extra,
    }
    points, total = [], 0
    for at, event in server.events("/v1/chat/completions", body):
        for choice in event["choices"]:
            delta = choice.get("delta") or {}
            new = len(delta.get("content") or "") + len(delta.get("reasoning_content") or "")
            if new:
                total += new
                points.append((at, total))
    return points


def generate_points(server, ids, extra):
    body = {"input_ids": ids, "sampling_params": {"temperature": 0, **extra}}
    points, total = [], 0
    for at, event in server.events("/generate", body):
        if len(event["text"]) > total:  # the text of an event is all of it
            total = len(event["text"])
            points.append((at, total))
    return points


def judge(points):
    if len(points) < 3:
        raise ServerError(f"the stream had {len(points)} events with text; it cannot be judged")
    (first, _), (last, total) = points[0], points[-1]

    def share(until):
        return max((c for at, c in points if at <= until), default=0) / total

    half, tail = share(first + (last - first) / 2), 1 - share(last - 1.0)
    return {
        "events": len(points),
        "chars": total,
        "span_s": round(last - first, 2),
        "half_share": round(half, 3),
        "tail_share": round(tail, 3),
        "pass": half >= LEAST_HALF and tail <= LARGEST_TAIL,
    }


def measure(ask, limit_name, span, room):
    """`ask(extra)` -> points. `room`: most tokens that the context leaves."""
    extra = {limit_name: room}
    for _ in range(MOST_ATTEMPTS):
        points = ask(extra)
        seconds = points[-1][0] - points[0][0] if points else 0.0
        if seconds >= span or seconds <= 0 or (len(extra) > 1 and extra[limit_name] == room):
            return points
        print(f"  the answer took {seconds:.2f} s; asking for one of {span:g} s", flush=True)
        extra = {limit_name: min(room, int(len(points) / seconds * span * 1.3)), "ignore_eos": True}
    return points


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:30000")
    parser.add_argument("--api-key")
    parser.add_argument("--model", help="default: the first that the server names")
    parser.add_argument(
        "--span", type=positive(float), default=12.0, help="seconds that an answer must last (default %(default)s)"
    )
    parser.add_argument("--out", type=result_file, help="write the figures as JSON")
    args = parser.parse_args()
    server, result = Server(args.url, args.api_key), {}
    try:
        served = server.json("/v1/models")["data"][0]
        ids = server.tokenize(glm_prompt(QUESTION))
        room = served["max_model_len"] - len(ids) - 16
        model = args.model or served["id"]
        asks = {
            "chat": (lambda extra: chat_points(server, model, extra), "max_tokens"),
            "generate": (lambda extra: generate_points(server, ids, extra), "max_new_tokens"),
        }
        for name, (ask, limit_name) in asks.items():
            print(f"{name}: streaming", flush=True)
            result[name] = judge(measure(ask, limit_name, args.span, room))
    except (ServerError, KeyError, IndexError, TypeError) as error:
        print(f"stream_rate: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    heads = ["events", "chars", "span_s", "half_share", "tail_share", "pass"]
    print_table("stream rate", ["endpoint", *heads], [[name, *(r[h] for h in heads)] for name, r in result.items()])
    good = all(r["pass"] for r in result.values())
    if args.out:
        with open(args.out, "w") as f:
            json.dump(result, f, indent=1)
    print("\nSTREAM_RATE", "PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
