#!/usr/bin/env python3
"""Paired check of decoding: the same tokens with the CPU lane off and on, row by row.

  decode_kl.py [-m DIR] [--kl-tokens 256] [--kl-out FILE.json] [worker flags ...]      starts both servers in turn
  decode_kl.py --url-off http://HOST:PORT --url-on http://HOST:PORT ...                two servers that run already

Lane off answers a few questions greedily (tokens T) and gives the distribution of every decoded row. Lane on decodes
the very same T; its rows are compared, and so is what it would have answered by itself. The servers started here are
`--mode fast` with `--cpu-lane never`, then `--cpu-lane always` (or what --lane says); the second adopts the expert home
of the first, so that the memory of one model suffices.

KL is sum p (ln p - ln q) over the --top most likely tokens of lane off plus all others as one. A row's margin is the
distance of its two best log-probabilities. Passes when mean KL <= 5e-4, top-1 >= 0.99, top-1 = 1 where the margin is
above 0.5, and the CPU lane was in time for at least 90 % of the picks that it was given. Standard library only. Exit
codes: 0 passed, 1 failed, 2 cannot be measured.
"""

import argparse
import contextlib
import json
import math
import os
import shutil
import sys
import tempfile

from own_server import harness, started, use_programs
from server_client import Server, ServerError, glm_prompt, positive, print_table, result_file

QUESTIONS = (
    "Why does the Moon always show us the same side?",
    "Write a Python function that merges two sorted lists into one.",
    "What is 23 times 19? Show each step.",
    "Translate into French: 'The bridge was closed, so we walked home along the river.'",
    "List five reasons why wooden ships were replaced by iron ones.",
    "Explain zero-copy model offloading.",
)
MOST_ENTRIES = 4_000_000  # log-probabilities that the server puts into one answer
LARGEST_KL, LEAST_TOP1, SURE_MARGIN = 5e-4, 0.99, 0.5
LEAST_IN_TIME = 0.9  # of the picks given to the CPU lane; what comes late is computed again by the worker


def greedy(server, ids, tokens):
    body = {"input_ids": ids, "sampling_params": {"temperature": 0, "max_new_tokens": tokens}}
    return server.json("/generate", body, 3600)["output_ids"]


def decoded_rows(server, ids, first, **fields):
    """meta_info of scoring `ids`, every row from that of token `first` on decoded one at a time."""
    body = {
        "input_ids": ids,
        "sampling_params": {"temperature": 0, "max_new_tokens": 0},
        "return_logprob": True,
        "logprob_start_len": first,
        "path": "DECODE",
        "decode_from": max(1, first - 1),
        **fields,
    }
    return server.json("/generate", body, 3600)["meta_info"]


def ask_lane_off(server, questions, tokens, top):
    cases = []
    for number, question in enumerate(questions):
        prompt = server.tokenize(glm_prompt(question))
        answer = greedy(server, prompt, tokens)
        if not answer:
            raise ServerError(f"no answer to {question!r}")
        width = max(2, min(top, MOST_ENTRIES // len(answer) // len(answer)))
        meta = decoded_rows(server, prompt + answer, len(prompt), top_logprobs_num=width)
        cases.append({"question": question, "prompt": prompt, "answer": answer, "rows": meta["input_top_logprobs"]})
        print(f"lane off: {number + 1} of {len(questions)}, {len(answer)} tokens", flush=True)
    return cases


def lane_picks(server):
    return server.json("/stats")["lanes"]["picks"]


def ask_lane_on(server, cases):
    """-> picks by lane of these questions alone: the server may have answered others before."""
    before = lane_picks(server)
    for number, case in enumerate(cases):
        ids = sorted({entry[1] for row in case["rows"] for entry in row})
        meta = decoded_rows(
            server, case["prompt"] + case["answer"], len(case["prompt"]), token_ids_logprob=ids, top_logprobs_num=1
        )
        case["rows_on"] = [{entry[1]: entry[0] for entry in row} for row in meta["input_token_ids_logprobs"]]
        case["best_on"] = [row[0][1] for row in meta["input_top_logprobs"]]
        case["answer_on"] = greedy(server, case["prompt"], len(case["answer"]))
        print(f"lane on:  {number + 1} of {len(cases)}", flush=True)
    return {lane: picks - before[lane] for lane, picks in lane_picks(server).items()}


def row_kl(off, on):
    """`off`: [(log-probability, id)], `on`: {id: log-probability}; what lies outside counts as one more token."""
    p = [math.exp(entry[0]) for entry in off]
    q = [math.exp(on[entry[1]]) for entry in off]
    kl = math.fsum(a * (entry[0] - on[entry[1]]) for a, entry in zip(p, off))
    p_rest, q_rest = 1 - math.fsum(p), 1 - math.fsum(q)
    if p_rest > 1e-9 and q_rest > 1e-9:
        kl += p_rest * math.log(p_rest / q_rest)
    return max(kl, 0.0)


def compare(case):
    rows = []
    for off, on, best in zip(case["rows"], case["rows_on"], case["best_on"]):
        rows.append({"kl": row_kl(off, on), "same": off[0][1] == best, "margin": off[0][0] - off[1][0]})
    pairs = zip(case["answer"], case["answer_on"] + [None] * len(case["answer"]))
    divergence = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    return rows, {
        "prompt": case["question"],
        "tokens": len(rows),
        "kl_mean": math.fsum(r["kl"] for r in rows) / len(rows),
        "kl_max": max(r["kl"] for r in rows),
        "top1_agree": sum(r["same"] for r in rows) / len(rows),
        "greedy_first_divergence": divergence,
        "disagree_margins_nats": [round(r["margin"], 4) for r in rows if not r["same"]],
    }


def summarize(cases, picks):
    compared = [compare(case) for case in cases]
    rows = [row for part, _ in compared for row in part]
    kls = sorted(row["kl"] for row in rows)
    sure = [row for row in rows if row["margin"] > SURE_MARGIN]
    return {
        "positions": len(rows),
        "kl_mean": math.fsum(kls) / len(kls),
        "kl_p99": kls[int(0.99 * (len(kls) - 1))],
        "top1_agree": sum(r["same"] for r in rows) / len(rows),
        "top1_margin_above_0.5": sum(r["same"] for r in sure) / len(sure) if sure else 1.0,
        "first_divergence": [entry["greedy_first_divergence"] for _, entry in compared],
        "lane_picks": picks,
        "per_prompt": [entry for _, entry in compared],
    }


def failures(total):
    bad = []
    if total["kl_mean"] > LARGEST_KL:
        bad.append(f"mean KL {total['kl_mean']:.2e} is above {LARGEST_KL:.0e}")
    if total["top1_agree"] < LEAST_TOP1:
        bad.append(f"top-1 {total['top1_agree']:.4f} is below {LEAST_TOP1}")
    if total["top1_margin_above_0.5"] < 1:
        bad.append(f"a best token differs where the margin is above {SURE_MARGIN}")
    given = total["lane_picks"]["cpu"]
    in_time = given - total["lane_picks"]["late"]
    if given == 0:
        bad.append("the CPU lane was given nothing: lane on was not on")
    elif in_time < LEAST_IN_TIME * given:
        bad.append(
            f"the CPU lane computed {in_time} of the {given} picks that it was given, below {LEAST_IN_TIME:.0%}: the "
            "rest came late and was computed without it, so give hearth-cpu-tier more or idler CPUs"
        )
    return bad


@contextlib.contextmanager
def lane_server(args, lane, home, worker_flags):
    if args.url_off:
        yield Server(args.url_off if lane == "never" else args.url_on, args.api_key)
        return
    flags = ["--mode", "fast", *worker_flags, "--cpu-lane", lane]
    with started(worker_flags=flags, model=args.model, home=home) as running:
        yield Server(f"http://127.0.0.1:{running.port}")


def run(args, worker_flags):
    home = None if args.url_off else tempfile.mkdtemp(prefix="hearth-kl.", dir=args.home_dir)
    try:
        with lane_server(args, "never", home, worker_flags) as server:
            cases = ask_lane_off(server, QUESTIONS, args.kl_tokens, args.top)
        with lane_server(args, args.lane, home, worker_flags) as server:
            picks = ask_lane_on(server, cases)
    finally:
        if home:
            shutil.rmtree(home, ignore_errors=True)
    return summarize(cases, picks)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--url-off")
    parser.add_argument("--url-on")
    parser.add_argument("--api-key")
    parser.add_argument("--model", "-m", default=harness.MODEL)
    parser.add_argument("--bin", default=harness.BIN)
    parser.add_argument("--home-dir", default=harness.SHARED_MEMORY, help="tmpfs for the expert home (%(default)s)")
    parser.add_argument("--lane", choices=("always", "auto"), default="always")
    parser.add_argument("--kl-tokens", type=positive(int), default=256, help="most tokens of an answer")
    parser.add_argument("--top", type=int, default=64, help="tokens of a row that count singly (2 to 1024)")
    parser.add_argument("--kl-out", "--out", type=result_file, help="write the figures as JSON")
    args, worker_flags = parser.parse_known_args()
    if bool(args.url_off) != bool(args.url_on) or args.kl_tokens < 1 or not 2 <= args.top <= 1024:
        parser.error("give both --url-off and --url-on or neither; --kl-tokens from 1, --top from 2 to 1024")
    if args.url_off and worker_flags:
        parser.error(f"unknown here: {' '.join(worker_flags)} (worker flags are for servers that this program starts)")
    if not args.url_off:
        use_programs(parser, args.bin)
    try:
        total = run(args, worker_flags)
    except ServerError as error:
        print(f"decode_kl: {error}", file=sys.stderr)
        return 2
    except (AssertionError, KeyError, IndexError, TypeError, OSError) as error:
        print(f"decode_kl: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print_table(
        "decode, lane on against lane off",
        ["prompt", "rows", "mean KL", "max KL", "top-1", "first difference"],
        [
            [
                e["prompt"][:44],
                e["tokens"],
                f"{e['kl_mean']:.1e}",
                f"{e['kl_max']:.1e}",
                f"{e['top1_agree']:.4f}",
                "none" if e["greedy_first_divergence"] is None else e["greedy_first_divergence"],
            ]
            for e in total["per_prompt"]
        ],
    )
    print(
        f"\nall rows {total['positions']}  mean KL {total['kl_mean']:.2e}  p99 {total['kl_p99']:.2e}  "
        f"top-1 {total['top1_agree']:.4f}  picks by lane {total['lane_picks']}"
    )
    bad = total["failures"] = failures(total)
    if args.kl_out:
        with open(args.kl_out, "w") as f:
            json.dump(total, f, indent=1)
    print("DECODE_KL", "PASS" if not bad else "FAIL: " + "; ".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
