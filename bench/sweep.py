#!/usr/bin/env python3
"""Measures a running server: prefill by prompt length, decode by number of simultaneous streams.

  sweep.py --card rtx3090 --template glm --config "commit, settings" --prefill 8192 32768 --conc 1 2 4 \\
           --reps 3 --dec-reps 2 --no-early-exit --out sweep.json [--plot sweep.svg]

  prefill  REPS prompts of fresh random token ids per length (nothing can be reused); tokens / time to the first token
  decode   C simultaneous greedy answers to different short questions, each to its own end, DEC-REPS rounds:
           aggregate  = all completion tokens / (last token of all - first token of all)
           per stream = (tokens - 1) / (its last token - its first token)
           and one stream behind a prompt of 32,768 tokens where the context has room for it ("C1@32k")

With --best FILE (default reference/best_known.json, if there is one) each median is compared with the best value known
for the card: more than --tol below it ends the sweep with exit code 3, unless --no-early-exit. --update-best writes the
values that this run has beaten. The server should have nothing else to do. Standard library only.
Exit codes: 0 done, 1 the server failed, 3 early exit.
"""

import argparse
import hashlib
import json
import os
import platform
import random
import secrets
import statistics
import sys
import threading
import time

from power_meter import PowerMeter
from server_client import Server, ServerError, glm_prompt, positive, print_table, result_file, spread
from sweep_plot import write_plot

HERE = os.path.dirname(os.path.abspath(__file__))
BEST_KNOWN = os.path.join(HERE, "..", "reference", "best_known.json")
LONG_PREFIX = 32768
SUBJECTS = ("tidal power stations", "the invention of the telescope", "how bread rises", "the Silk Road",
            "how a sewing machine forms a stitch", "coral reefs", "the origins of the metric system",
            "how radar finds an aircraft", "the migration of arctic terns", "how bridges carry loads",
            "the development of written numerals", "how a refrigerator moves heat", "the formation of deserts",
            "the story of the public library", "how a piano makes sound", "the navigation of ocean currents")
SERVER_ARGS = ("max_running_requests", "max_total_num_tokens", "chunked_prefill_size", "kv_cache_dtype",
               "context_length", "mem_fraction_static", "max_mamba_cache_size")


class EarlyExit(Exception):
    pass


class Sweep:
    def __init__(self, args):
        self.args = args
        self.server = Server(args.url, args.api_key)
        self.best_path = args.best or BEST_KNOWN
        self.best_all = {}
        if os.path.exists(self.best_path):
            with open(self.best_path) as f:
                self.best_all = json.load(f)
        self.best = self.best_all.get(args.card, {}) if isinstance(self.best_all, dict) else None
        if not isinstance(self.best, dict):
            raise ValueError(f'{self.best_path} is no file of best known values, {{"CARD": {{"decode_C1": 500, ..}}, ..}}')
        info = self.server.json("/server_info")
        server_args = info.get("server_args") or info
        self.context = int(info.get("context_length") or server_args.get("context_length") or 131072)
        # The added tokens lie at the end of a vocabulary; a random prompt has none of them.
        self.last_id = min(150_000, int(info.get("vocab_size", 150_000) * 0.97))
        self.first_id = min(1000, self.last_id // 4)
        self.seed, self.nonce, self.hashes = time.time_ns() // 1000, secrets.token_hex(16), []
        self.result = {
            "card": args.card, "config": args.config, "started": now(), "ctx_len": self.context,
            "protocol": "bench/sweep.py v1", "template": args.template, "tol": args.tol,
            "best_known_before": self.best, "server_args": {key: server_args.get(key) for key in SERVER_ARGS},
            "prefill": {}, "decode": {}, "status": "RUNNING",
        }

    def save(self):
        with open(self.args.out, "w") as f:
            json.dump(self.result, f, indent=1)

    def gate(self, key, value):
        known = self.best.get(key)
        good = known is None or value >= (1 - self.args.tol) * known
        self.result.setdefault("gates", {})[key] = {"value": round(value, 2), "best_known": known, "pass": good}
        self.save()
        if not good and not self.args.no_early_exit:
            raise EarlyExit(f"EARLY_EXIT at {key}: {value:.1f} is more than {self.args.tol:.0%} below the best, {known}")

    def random_ids(self, count, seed):
        rng = random.Random(seed)
        return [rng.randrange(self.first_id, self.last_id) for _ in range(count)]

    def question_ids(self, number):
        question = (f"[{self.nonce}-{number}] Write a detailed, well-structured text about "
                    f"{SUBJECTS[number % len(SUBJECTS)]} (version {number}).")
        text = glm_prompt(question)
        if self.args.template == "qwen":
            text = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
        self.hashes.append(hashlib.sha256(text.encode()).hexdigest())
        return self.server.tokenize(text)

    # ---------------------------------------------------------------- prefill

    def time_to_first_token(self, ids):
        body = {"input_ids": ids, "sampling_params": {"temperature": 0, "max_new_tokens": 1}}
        begin = time.perf_counter()
        times = [at for at, _ in self.server.events("/generate", body)]
        if not times:
            raise ServerError("the stream of a prefill had no token")
        return times[0] - begin

    def run_prefill(self):
        self.time_to_first_token(self.random_ids(min(512, self.context // 2), self.seed))  # warm-up, not recorded
        for length in self.args.prefill:
            if length + 64 > self.context:
                self.result["prefill"][str(length)] = {"skipped": f"> context {self.context}"}
                print(f"prefill {length}: skipped, the context is {self.context}", flush=True)
                continue
            rates = []
            for repetition in range(self.args.reps):
                ids = self.random_ids(length, self.seed + 1000 * length + repetition)
                rates.append(round(length / self.time_to_first_token(ids), 1))
                print(f"prefill {length}: {rates[-1]} tok/s ({repetition + 1} of {self.args.reps})", flush=True)
            self.result["prefill"][str(length)] = spread(rates)
            self.gate(f"prefill_{length}", statistics.median(rates))

    # ---------------------------------------------------------------- decode

    def answer(self, number, streams, prefix):
        ids = prefix + self.question_ids(number)
        longest = max(64, (self.context - len(ids)) // streams - 64)
        body = {"input_ids": ids, "sampling_params": {"temperature": 0, "max_new_tokens": longest}}
        begin, times, last = time.perf_counter(), [], None
        for at, last in self.server.events("/generate", body):
            times.append(at)
        if not times:
            raise ServerError("the stream of an answer had no token")
        meta = last["meta_info"]
        return {"begin": begin, "first": times[0], "last": times[-1], "tokens": meta["completion_tokens"],
                "finish": (meta.get("finish_reason") or {}).get("type")}

    def run_round(self, streams, number, prefix=()):
        answers, problems = [None] * streams, []

        def one(i):
            try:
                answers[i] = self.answer(number * 100 + i, streams, list(prefix))
            except (ServerError, KeyError, TypeError) as error:
                problems.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=one, args=(i,)) for i in range(streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise ServerError(f"{len(problems)} of {streams} streams failed; the first: {problems[0]}")
        return summarize_round(answers)

    def run_decode(self):
        for streams in [*self.args.conc, *self.args.high]:
            with PowerMeter() as power:
                rounds = [self.run_round(streams, number) for number in range(self.args.dec_reps)]
            self.record(f"C{streams}", rounds, {"gpu_power_w_mean": power.mean()})
            if streams in (1, 4):
                self.gate(f"decode_C{streams}", statistics.median(r["aggregate"] for r in rounds))
        if self.context > 40_000:
            prefix = self.random_ids(LONG_PREFIX, self.seed + 99)
            self.record("C1@32k", [self.run_round(1, 90 + i, prefix) for i in range(self.args.dec_reps)], {})

    def record(self, name, rounds, extra):
        self.result["decode"][name] = {"aggregate": spread([r["aggregate"] for r in rounds]),
                                       "per_stream_mean": spread([r["per_stream_mean"] for r in rounds]),
                                       "rounds": rounds, **extra}
        self.save()
        entry = self.result["decode"][name]
        print(f"decode {name}: aggregate {entry['aggregate']['median']:.2f} tok/s, "
              f"per stream {entry['per_stream_mean']['median']:.2f} ({len(rounds)} rounds)", flush=True)

    def run(self):
        try:
            self.run_prefill()
            self.run_decode()
            self.result["status"], code = "DONE", 0
        except EarlyExit as exit_:
            self.result["status"], code = str(exit_), 3
        except ServerError as error:
            self.result["status"], code = f"FAILED: {error}", 1
        self.result.update({"prompt_sha256": self.hashes, "nonce_prefix": self.nonce, "finished": now()})
        self.save()
        if code == 0 and self.args.update_best:
            self.update_best()
        return code

    def update_best(self):
        for key, gate in self.result.get("gates", {}).items():
            if gate["best_known"] is None or gate["value"] > gate["best_known"]:
                self.best_all.setdefault(self.args.card, {})[key] = gate["value"]
        with open(self.best_path, "w") as f:
            json.dump(self.best_all, f, indent=1)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def summarize_round(answers):
    tokens = sum(a["tokens"] for a in answers)
    span = max(a["last"] for a in answers) - min(a["first"] for a in answers)
    each = [(a["tokens"] - 1) / (a["last"] - a["first"]) for a in answers if a["tokens"] > 1 and a["last"] > a["first"]]
    if not each or span <= 0:
        raise ServerError("answers of one token have no rate; choose another --template or model")
    return {"aggregate": round(tokens / span, 2), "per_stream_mean": round(statistics.mean(each), 2),
            "per_stream_min": round(min(each), 2), "tokens": tokens,
            "finish": sorted({a["finish"] for a in answers if a["finish"]}),
            "ttft_max": round(max(a["first"] - a["begin"] for a in answers), 3)}


def print_result(result):
    rows = []
    for length, e in result["prefill"].items():
        figures = ["skipped", "", ""] if "skipped" in e else [f"{e['median']:.1f}", f"{e['min']:.1f}..{e['max']:.1f}", e["n"]]
        rows.append([length, *figures])
    print_table("prefill", ["tokens", "tok/s", "range", "reps"], rows)
    rows = [[name, f"{e['aggregate']['median']:.2f}", f"{e['per_stream_mean']['median']:.2f}",
             f"{min(r['per_stream_min'] for r in e['rounds']):.2f}", f"{max(r['ttft_max'] for r in e['rounds']):.3f}",
             sum(r["tokens"] for r in e["rounds"]), "-" if e.get("gpu_power_w_mean") is None else e["gpu_power_w_mean"]]
            for name, e in result["decode"].items()]
    print_table("decode", ["streams", "aggregate tok/s", "per stream", "slowest", "TTFT max s", "tokens", "GPU W"],
                rows)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:30000")
    parser.add_argument("--api-key")
    parser.add_argument("--card", default=platform.node(),
                        help="the machine's name; key in the file of best known values (default: its host name)")
    parser.add_argument("--config", default="default", help="label: commit and settings")
    parser.add_argument("--template", choices=("glm", "qwen"), default="glm", help="chat format of the decode prompts")
    parser.add_argument("--prefill", type=positive(int), nargs="*", default=[8192, 16384, 32768, 65536], metavar="TOKENS")
    parser.add_argument("--conc", type=positive(int), nargs="*", default=[1, 2, 3, 4], metavar="STREAMS")
    parser.add_argument("--high", type=positive(int), nargs="*", default=[], metavar="STREAMS", help="further numbers of streams")
    parser.add_argument("--reps", type=positive(int), default=3)
    parser.add_argument("--dec-reps", type=positive(int), default=2)
    parser.add_argument("--tol", type=float, default=0.05, help="share that a median may lie below the best")
    parser.add_argument("--no-early-exit", action="store_true")
    parser.add_argument("--best", help="file of best known values (default reference/best_known.json)")
    parser.add_argument("--update-best", action="store_true")
    parser.add_argument("--out", type=result_file, default="sweep.json", help="result as JSON (default sweep.json)")
    parser.add_argument("--plot", type=result_file, help="also draw the result as SVG")
    args = parser.parse_args()
    if args.update_best:
        try:
            result_file(args.best or BEST_KNOWN)
        except argparse.ArgumentTypeError as error:
            parser.error(f"--update-best: {error}")
    return args


def main():
    args = parse_arguments()
    try:
        sweep = Sweep(args)
    except (ServerError, ValueError) as error:
        print(f"sweep: {error}", file=sys.stderr)
        return 1
    code = sweep.run()
    print_result(sweep.result)
    if args.plot:
        write_plot(sweep.result, args.plot)
    print(f"\n{sweep.result['status']}; written to {args.out}" + (f" and {args.plot}" if args.plot else ""))
    return code


if __name__ == "__main__":
    sys.exit(main())
