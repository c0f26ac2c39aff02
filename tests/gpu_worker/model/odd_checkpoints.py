#!/usr/bin/env python3
"""Checkpoints of other shapes through the engine and through reference/ref_forward.py: logits must agree.

  odd_checkpoints.py --bin PATH_OF_score_checkpoint [--only VARIANT] [--seed N]

Every variant of tests/support/make_checkpoint.py is made in a temporary folder and run with both host backends, fully
prefilled in chunks of 64, and prefilled and decoded. A difference counts against the larger of 1 and the logits' rms.
Routing and pool selection are sharp decisions: where the reference, run in fp32 and in fp64, does not even agree with
itself, a row proves nothing and is left out, and the number of such rows is printed.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, "reference"), os.path.join(ROOT, "tests", "support")]
import make_checkpoint  # noqa: E402
import ref_forward  # noqa: E402

TOKENS = 150
TOLERANCE = 1e-4
NO_REFERENCE = {"bias": "the reference ignores biases; tests/kernels/linear covers them"}


def reference_logits(directory, tokens, dtype):
    model = ref_forward.load_model(directory, dtype, ref_forward.kda_recurrent)
    return model.forward(tokens)[0].astype(np.float64)


def engine_logits(binary, directory, tokens, decode_from, backend, out):
    command = [binary, directory, ",".join(map(str, tokens)), str(decode_from), "64", backend, out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode == 77:
        return None
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:2])}: exit {done.returncode}: {done.stderr}")
    return np.fromfile(out, "<f4").reshape(len(tokens), -1).astype(np.float64)


def check(variant, binary, seed):
    """-> whether every run of a variant agrees."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        directory = os.path.join(folder, "model")
        subprocess.run([sys.executable, make_checkpoint.__file__, "--variant", variant, "--seed", str(seed), "--out",
                        directory], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(directory, "config.json")) as f:
            config = ref_forward.json.load(f)
        vocab = config.get("text_config", config)["vocab_size"]
        tokens = [int(t) for t in np.random.default_rng(seed).integers(0, vocab, TOKENS)]
        want = reference_logits(directory, tokens, np.float64)
        rough = reference_logits(directory, tokens, np.float32)
        scale = max(1.0, float(np.sqrt(np.mean(want * want))))
        sure = np.abs(want - rough).max(axis=1) <= TOLERANCE * scale
        if sure.mean() < 0.5:
            print(f"{variant}: the reference agrees with itself on {sure.sum()} of {TOKENS} rows only: proves nothing")
            return False
        for backend in ("ref", "avx2"):
            for decode_from in (TOKENS, 70):
                got = engine_logits(binary, directory, tokens, decode_from, backend, os.path.join(folder, "logits"))
                name = f"{variant:<16} {backend:<5} decode from {decode_from:<4}"
                if got is None:
                    print(f"{name} skipped: no AVX2 on this machine")
                    continue
                worst = np.abs(got - want)[sure].max() / scale
                good &= bool(got.shape == want.shape and worst <= TOLERANCE)
                print(f"{name} {worst:9.1e}  {TOKENS - sure.sum():3} rows undecided"
                      + ("" if worst <= TOLERANCE else "  TOO LARGE"), flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    passed = failed = skipped = 0
    for variant in make_checkpoint.VARIANTS:
        if args.only not in (None, variant):
            continue
        if variant in NO_REFERENCE:
            print(f"{variant:<16} skipped: {NO_REFERENCE[variant]}")
            skipped += 1
        elif check(variant, args.bin, args.seed):
            passed += 1
        else:
            failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
