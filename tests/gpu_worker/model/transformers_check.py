#!/usr/bin/env python3
"""The whole forward against the `glm5_next` of Hugging Face transformers, on random models of odd shapes.

  transformers_check.py --bin PATH_OF_score_checkpoint [--device host|cuda] [--only SHAPE] [--seeds 1,2]

Each model is one checkpoint of tests/support/make_checkpoint.py with the tensor names of the original release. The
engine loads it as it is; transformers loads the same numbers in fp32 (EXL3 matrices expanded) through its own name
mapping and runs one pass over the sequence on the CPU. The sequence is longer than every selection, so the indexer
decides. The engine prefills it in chunks of 64, prefills half and decodes the rest, and decodes all of it.
Differences are in units of the logits' rms; `margin` is the largest margin of a best token that changed.

How close is close follows from the operands of the products:

  22 bits or more   the host; on the GPU plain matrices, all decoding, and EXL3 matrices prefilled with operands in two
                    terms (runs `f16x2`). No logit may differ by more than 1e-4 of the
                    logits' rms. Close calls among experts or pools go either way at any precision: rows that move by
                    more than the limit in transformers itself, its products' inputs off by 1e-6, are left out, at most
                    half of all. In runs `f16x2` sums are off by up to 8e-6 (tensor cores may cut off 2^-23 at each of
                    the up to 64 steps here), so more close calls are in reach, and one shows in the states of all later
                    rows: there the median row may be 2e-5 of the rms off, the KL 1e-4, and the best tokens of 1 row in
                    100 may differ.
  11 bits           prefill of EXL3 matrices on the GPU, which rounds its inputs to fp16. The yardstick is transformers
                    with the inputs of the same products off by 5e-4, in three draws: rms, median row and KL over the
                    20 best tokens may be twice the largest draw's, and the share of rows with the same best token 0.015
                    below the smallest draw's. (The tolerances for a trained model do not fit random ones, in which a
                    flipped decision replaces a third of a layer's output.)

Needs numpy, torch, safetensors and transformers with glm5_next (5.17 or newer). Exit status 1: a difference; 77: no
such transformers, or no such device.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError as error:
    print(f"SKIPPED: {error}; install numpy, torch and transformers 5.17 or newer", file=sys.stderr)
    sys.exit(77)
from random_models import SHAPES, Maker, expand, ref_forward

TOKENS = 300
CHUNK = 64
RUNS = (("prefill", TOKENS, ""), ("half decoded", TOKENS // 2, ""), ("all decoded", 0, ""))
PRECISE_RUNS = (("prefill f16x2", TOKENS, "-f16x2"), ("half f16x2", TOKENS // 2, "-f16x2"))  # of EXL3 matrices, on a GPU
# name, first decoded row, what follows the backend's name
LIMIT = 1e-4
FP32_ERROR, FP16_ERROR = 1e-6, 5e-4
PRECISE_MEDIAN, PRECISE_KL, PRECISE_TOP1 = 2e-5, 1e-4, 0.99
MODEL_CLASS = "Glm5NextForConditionalGeneration"


class Reference:
    """transformers' model of a folder made by `expand`."""

    def __init__(self, directory, exl3):
        import torch
        import transformers
        self.torch, self.exl3 = torch, exl3
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        self.model, info = getattr(transformers, MODEL_CLASS).from_pretrained(
            directory, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager",
            output_loading_info=True)
        self.model.eval()
        wrong = {what: [n for n in names if ".visual." not in str(n)] for what, names in info.items()
                 if what in ("missing_keys", "unexpected_keys", "mismatched_keys")}
        if any(wrong.values()):
            raise SystemExit(f"transformers and the checkpoint do not fit: {wrong}")

    def logits(self, tokens, error=0.0, seed=0, only_exl3=False):
        """fp64 [tokens, vocab]. With `error`, inputs of products are multiplied by 1 + e, e uniform within it."""
        torch = self.torch
        generator = torch.Generator().manual_seed(seed)

        def disturb(_, inputs):
            noise = torch.rand(inputs[0].shape, generator=generator) * (2 * error) - error
            return (inputs[0] * (1 + noise),) + inputs[1:]

        hooks = []
        for name, module in self.model.named_modules() if error else ():
            experts = name.endswith(".experts")
            if not (experts or isinstance(module, torch.nn.Linear)):
                continue
            if not only_exl3 or name in self.exl3 or experts and f"{name}.0.up_proj" in self.exl3:
                hooks.append(module.register_forward_pre_hook(disturb))
        with torch.no_grad():
            out = self.model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0].double().numpy()
        for hook in hooks:
            hook.remove()
        return out


class Agreement:
    """Differences of two [rows, vocab] tables of logits, in units of the first one's rms."""

    def __init__(self, want, got):
        rms = float(np.sqrt(np.mean(want * want)))
        each = np.sqrt(np.mean((got - want) ** 2, axis=1)) / rms
        self.rms = float(np.sqrt(np.mean(each ** 2)))
        self.median = float(np.median(each))
        self.rows_moved = np.abs(got - want).max(axis=1, initial=0) / rms
        self.largest = float(self.rows_moved.max())
        order = np.argsort(-want, axis=1)[:, :20]
        best = np.take_along_axis(want, order, axis=1)
        same = got.argmax(axis=1) == order[:, 0]
        self.top1 = float(same.mean())
        self.margin = float((best[:, 0] - best[:, 1])[~same].max(initial=0.0))
        p, q = (ref_forward.log_softmax(np.take_along_axis(x, order, axis=1)) for x in (want, got))
        self.kl = float((np.exp(p) * (p - q)).sum(axis=1).mean())

    def __str__(self):
        return (f"{self.rms:9.1e} {self.median:9.1e} {self.largest:9.1e} {self.top1:7.4f} {self.margin:7.4f} "
                f"{self.kl:9.1e}")


HEADER = (f"{'shape':<7} {'seed':>4} {'run':<13} {'rms':>9} {'median':>9} {'largest':>9} {'top-1':>7} {'margin':>7} "
          f"{'KL':>9}  limit")


def engine_logits(binary, directory, tokens, decode_from, backend, out):
    command = [binary, directory, ",".join(map(str, tokens)), str(decode_from), str(CHUNK), backend, out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        missing = done.returncode == 77
        what = "SKIPPED" if missing else f"{' '.join(command[:2])}: exit {done.returncode}"
        print(f"{what}: {done.stderr.strip()}", file=sys.stderr)
        raise SystemExit(77 if missing else 1)
    return np.fromfile(out, "<f4").reshape(len(tokens), -1).astype(np.float64)


def check(shape, seed, binary, backend):
    """One random model -> whether every run agrees. Prints a line per run."""
    with tempfile.TemporaryDirectory() as folder:
        directory = os.path.join(folder, "model")
        maker = Maker(shape, seed)
        maker.build()
        maker.write(directory)
        exl3 = expand(maker, directory, os.path.join(folder, "expanded"))
        tokens = [int(t) for t in np.random.default_rng(seed).integers(0, maker.cfg["vocab_size"], TOKENS)]
        runs = RUNS + (PRECISE_RUNS if exl3 and backend == "cuda" else ())
        engine = [engine_logits(binary, directory, tokens, decode_from, backend + act, os.path.join(folder, "logits"))
                  for _, decode_from, act in runs]
        reference = Reference(os.path.join(folder, "expanded"), exl3)
        want = reference.logits(tokens)
        moved = [Agreement(want, reference.logits(tokens, FP32_ERROR, draw)).rows_moved for draw in (1, 2)]
        sure = np.maximum(*moved) <= LIMIT
        draws = []
        if exl3 and backend == "cuda":
            draws = [Agreement(want, reference.logits(tokens, FP16_ERROR, draw, True)) for draw in (1, 2, 3)]
        good = True
        for (run, decode_from, act), got in zip(runs, engine):
            if draws and decode_from > 0 and not act:
                result = Agreement(want, got)
                most = {what: 2 * max(getattr(d, what) for d in draws) for what in ("rms", "median", "kl")}
                least = min(d.top1 for d in draws) - 0.015
                fits = all(getattr(result, what) <= most[what] for what in most) and result.top1 >= least
                limit = f"rms {most['rms']:.1e} median {most['median']:.1e} KL {most['kl']:.1e} top-1 {least:.3f}"
            elif act:
                result = Agreement(want, got)
                fits = result.median <= PRECISE_MEDIAN and result.kl <= PRECISE_KL and result.top1 >= PRECISE_TOP1
                limit = f"median {PRECISE_MEDIAN:.0e} KL {PRECISE_KL:.0e} top-1 {PRECISE_TOP1}"
            else:
                result = Agreement(want[sure], got[sure]) if sure.any() else Agreement(want, got)
                fits = result.largest <= LIMIT and sure.mean() >= 0.5
                limit = f"largest {LIMIT:.0e}, {TOKENS - sure.sum()} rows left out"
            good &= bool(fits and np.isfinite(got).all())
            print(f"{shape:<7} {seed:>4} {run:<13} {result}  {limit}{'' if fits else '  TOO LARGE'}", flush=True)
        return good


def find_transformers():
    """Versions, or a line on what is missing and exit status 77."""
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"SKIPPED: {error}; install torch and transformers 5.17 or newer", file=sys.stderr)
        raise SystemExit(77) from error
    if not hasattr(transformers, MODEL_CLASS):
        found = [name for name in dir(transformers) if name.startswith("Glm")]
        print(f"SKIPPED: transformers {transformers.__version__} has no {MODEL_CLASS}, only "
              f"{', '.join(found) or 'no Glm class at all'}; 5.17 has it", file=sys.stderr)
        raise SystemExit(77)
    return f"transformers {transformers.__version__}, torch {torch.__version__}"


def host_backend():
    with open("/proc/cpuinfo") as f:
        return "avx2" if " avx2 " in f.read() else "ref"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the program score_checkpoint")
    parser.add_argument("--device", choices=("host", "cuda"), default="host")
    parser.add_argument("--only", choices=SHAPES, help="one shape instead of all")
    parser.add_argument("--seeds", default="1,2", help="comma separated")
    args = parser.parse_args()
    backend = host_backend() if args.device == "host" else "cuda"
    print(f"{find_transformers()}; engine on {backend}; {TOKENS} tokens")
    print(HEADER)
    begin, results = time.monotonic(), []
    for seed in map(int, args.seeds.split(",")):
        results += [check(shape, seed, args.bin, backend) for shape in SHAPES if args.only in (None, shape)]
    print(f"{'PASS' if all(results) else 'FAIL'}: {sum(results)} of {len(results)} models agree, "
          f"{time.monotonic() - begin:.0f} s")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
