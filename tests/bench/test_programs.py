"""The benchmarks' own programs: what they refuse, and what they say. Standard library only.

HEARTH_BENCH_BIN is the folder of the programs, build/release/bench unless told; what is not built there is skipped."""

import os
import re
import struct
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = os.environ.get("HEARTH_BENCH_BIN", os.path.join(ROOT, "build", "release", "bench"))


class Program(unittest.TestCase):
    name = ""

    def setUp(self):
        self.path = os.path.join(BENCH, self.name)
        if not os.access(self.path, os.X_OK):
            self.skipTest(f"{self.path} is not built; configure with -DHEARTH_BENCH=ON")

    def run_it(self, *args):
        """-> exit code, output"""
        done = subprocess.run([self.path, *args], capture_output=True, text=True, timeout=240, cwd=ROOT)
        return done.returncode, done.stdout + done.stderr


class CachePolicyBench(Program):
    name = "cache_policy_bench"

    def trace(self, layers, picks, tokens):
        """A .npy file of uint16 [tokens, layers, picks]."""
        file = tempfile.NamedTemporaryFile(prefix="hearth-test.", suffix=".npy")
        self.addCleanup(file.close)
        shape = f"({len(tokens)}, {layers}, {picks})"
        head = f"{{'descr': '<u2', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for token in tokens:
            file.write(struct.pack(f"<{len(token)}H", *token))
        file.flush()
        return file.name

    def test_a_trace_may_name_more_experts_than_the_real_model_has(self):
        for last in (511, 65535):
            trace = self.trace(2, 2, [[t % 288, last - t, t % 288, last - t] for t in range(100)])
            code, said = self.run_it("--trace", trace, "--warm", "10", "--slots", "16")
            self.assertEqual(code, 0, said)
            self.assertIn("CLOCK, every miss admitted", said)

    def test_a_shape_that_no_model_has_is_refused(self):
        for layers, picks in ((1025, 8), (42, 257), (2**31 - 1, 2**31 - 1)):
            code, said = self.run_it("--trace", self.trace(layers, picks, [[0]]))
            self.assertEqual(code, 2, said)
            self.assertIn("1 to 1024 layers, 1 to 256 picks", said)


class ExpertBench(Program):
    name = "expert_bench"

    def quick(self, *args):
        small = ("--repeats", "1", "--mb-per-thread", "1", "--hidden", "128", "--width", "128")
        return self.run_it(*small, *args)

    def test_what_it_does_not_know_is_refused(self):
        wrong = {
            ("--isa", "ref-fp32,nope"): "--isa 'nope': no kernel of this processor; it has ",
            ("--isa", "ref-fp32,"): "--isa '': no kernel of this processor; it has ",
            ("--tokens", "1x"): "--tokens '1x': expected a whole number from 1 to 64",
            ("--tokens", "1,"): "--tokens '': expected a whole number from 1 to 64",
            ("--hidden", "128,256"): "--hidden '128,256': expected a whole number from 128 to 65536",
            ("--repeats", "0"): "--repeats '0': expected a whole number from 1 to 1000",
            ("avx2-int16",): "'avx2-int16' belongs to no option; the options are --threads ",
        }
        for args, expected in wrong.items():
            code, said = self.quick(*args)
            self.assertEqual(code, 2, said)
            self.assertIn(expected, said)

    def test_one_variant_is_the_chosen_one(self):
        code, said = self.quick("--tokens", "1")
        if code == 2 and "no AVX2" in said:
            self.skipTest("this processor has no AVX2, and plain loops no variants")
        self.assertEqual(code, 0, said)
        best = "avx512-int16" if "avx512-int16" in said else "avx2-int16"
        self.assertEqual(re.findall(r"^(\S+) .*, chosen$", said, re.M), [best], said)


class EngineBench(Program):
    name = "engine_bench"

    def measure(self, *args):
        model = ("--model", "models/hearth-tiny", "--device", "host", "--cpu-tier", "127.0.0.1:9")
        quick = ("--tokens", "2", "--warm", "2", "--prompt", "8", "--log-level", "error")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as home:
            return self.run_it(*model, *quick, "--home-dir", home, *args)

    def test_a_part_that_was_asked_for_and_skipped_is_a_failure(self):
        no_tier = "skipped, these options use no CPU tier; leave out --mode exact and --cpu-lane never"
        for part, flags, why in (
            ("fast1,memory", ("--cpu-lane", "never"), f"fast1: {no_tier}"),
            ("exactness,memory", ("--mode", "exact"), f"exactness: fast was {no_tier}"),
            ("prefill8k,memory", ("-cs", "1024"), "prefill of 8192 tokens: skipped, the pool has 1024 tokens"),
        ):
            with self.subTest(part):
                code, said = self.measure("--part", part, *flags)
                self.assertEqual(code, 1, said)
                self.assertIn(f"\nengine_bench: FAILED: {why}", said)
                self.assertIn("PSS", said)  # the report goes on to its end

    def test_a_daemon_that_was_given_and_does_not_come_up_is_a_failure(self):
        code, said = self.measure("--part", "decode1", "--tier-binary", "/bin/false")
        self.assertEqual(code, 1, said)
        self.assertIn("engine_bench: FAILED: fast1: skipped, the CPU lane is not up after 30 s", said)
        self.assertIn("/bin/false --grpc-listen 127.0.0.1:9 runs by itself", said)

    def test_decode1_means_exact_alone_on_a_machine_without_a_tier(self):
        for flags in (("--cpu-lane", "never"), ("--mode", "exact"), ()):
            code, said = self.measure("--part", "decode1", *flags)
            self.assertEqual(code, 0, said)
            self.assertIn("decode, 1 stream, exact\n  steps", said)


if __name__ == "__main__":
    unittest.main()
