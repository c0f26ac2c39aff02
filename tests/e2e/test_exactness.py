"""The exact promise: a row's logits depend on the tokens before it and on nothing else. Compared by hash, bit for bit."""

import json
import os
import shutil
import tempfile
import unittest

from harness import InBackground, SHARED_MEMORY, Server, panel, wait_for

DECODED = 200
# scripts/gpu_check.sh runs this file with the worker on the GPU, where the CPU lane rounds differently.
ON_GPU = os.environ.get("HEARTH_DEVICE") == "cuda"


def long_sequence():
    """A 900-token prompt and the 200 tokens that greedy decoding appends, from the panel's own texts."""
    items = panel()
    prompt = (items["needle"]["tokens"] + items["book"]["tokens"])[:900]
    tail = (items["essay"]["tokens"] + items["weather-two"]["tokens"] + items["zero-copy"]["tokens"])[:DECODED]
    return prompt, tail


class Exactness(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prompt, cls.tail = long_sequence()
        with cls.start() as server:
            cls.want = cls.hashes(server)
            cls.want_free = cls.free_running(server)
        assert len(set(cls.want)) == len(cls.want) == 900 + DECODED

    @staticmethod
    def start(*flags, env=None, **kwargs):
        return Server(worker_flags=["--mode", "exact", *flags], env=env, **kwargs)

    @classmethod
    def hashes(cls, server):
        """Rows 0..899 prefilled, the rest decoded."""
        return server.logits_hashes(cls.prompt + cls.tail, path="DECODE", decode_from=900)

    @classmethod
    def free_running(cls, server):
        """Hashes of a generation of 200 tokens after the prompt."""
        answer = server.generate(cls.prompt, DECODED, sampling_params={"ignore_eos": True}, logits_hash=True)
        return answer["output_ids"], answer["meta_info"]["output_logits_hash"]

    def check(self, server):
        got = self.hashes(server)
        first = next((i for i, (a, b) in enumerate(zip(got, self.want)) if a != b), None)
        self.assertIsNone(first, f"row {first} differs")
        self.assertEqual(got, self.want)
        self.assertEqual(self.free_running(server), self.want_free)

    def test_does_not_depend_on_the_number_of_slots(self):
        for slots in ("8", "64", "100000"):
            with self.subTest(slots=slots), self.start(env={"GLM53_EC_MAX_SLOTS": slots}) as server:
                self.check(server)

    def test_does_not_depend_on_the_chunk_size(self):
        for chunk in ("64", "512", "8192"):
            with self.subTest(chunk=chunk), self.start("-chunk_size", chunk) as server:
                self.check(server)

    def test_does_not_depend_on_lanes(self):
        for flags, used in ((("--force-source", "hit"), "vram"), (("--force-source", "pcie"), "pcie"),
                            (("--force-source", "cpu"), "cpu"), (("--cpu-lane", "always"), "cpu"),
                            (("--cpu-lane", "never"), "vram")):
            if ON_GPU and used == "cpu":
                continue  # refused: tests/gpu_worker/settings_test.cc
            with self.subTest(flags=flags), self.start(*flags) as server:
                wait_for(lambda: used != "cpu" or server.stats()["cpu_tier"]["up"], 10, "the CPU tier is up")
                before = server.stats()["lanes"]["picks"]
                self.check(server)
                after = server.stats()["lanes"]["picks"]
                self.assertGreaterEqual(after[used] - before[used], DECODED * 7 * 4 // 2, after)

    @unittest.skipIf(ON_GPU, "refused on a GPU: tests/gpu_worker/settings_test.cc")
    def test_a_tier_with_other_bits_is_left_alone(self):
        with self.start("--cpu-lane", "always", tier_flags=["--kernel", "int16"]) as server:
            advice = "--kernel auto or fp32"
            wait_for(lambda: advice in server.health()[1].get("degraded_reason", ""), 10, "health says why")
            wait_for(lambda: advice in server.log("worker"), 10, "and so does the log")
            self.check(server)
            self.assertEqual(server.stats()["lanes"]["picks"].get("cpu", 0), 0)

    def test_does_not_depend_on_what_is_fetched_ahead(self):
        for most in ("1", "4"):
            with self.subTest(most=most), self.start("--look-ahead", most, env={"GLM53_EC_MAX_SLOTS": "8"}) as server:
                self.check(server)
                cache = server.stats()["expert_cache"]
                # 200 rows are decoded twice, and six layers have one before them that can look ahead.
                self.assertGreater(cache["used_ahead"], DECODED * 6)
                self.assertLessEqual(cache["used_ahead"], cache["fetched_ahead"])

    def test_does_not_depend_on_other_streams(self):
        items = panel()
        others = [items[n]["tokens"][: items[n]["prompt_len"]] for n in ("needle", "weather-two", "hello")]
        with self.start("-chunk_size", "128") as server:
            # Streams of different lengths that start over again and again change prefill, decode and order throughout.
            stop = []

            def keep_busy(prompt, tokens):
                rounds = 0
                while not stop:
                    server.generate(prompt, tokens, sampling_params={"ignore_eos": True})
                    rounds += 1
                return rounds

            busy = [InBackground(keep_busy, p, n) for p, n in zip(others, (7, 40, 150))]
            wait_for(lambda: server.stats()["requests_running"] >= 2, 20, "other streams run")
            try:
                self.check(server)
                self.check(server)
            finally:
                stop.append(True)
            for thread in busy:
                self.assertGreater(thread.result(), 0)

    def test_does_not_depend_on_a_restart_that_adopted_the_home(self):
        home = tempfile.mkdtemp(prefix="hearth-test.", dir=SHARED_MEMORY)
        try:
            with self.start(home=home) as server:
                self.check(server)
                server.kill("worker")
                wait_for(lambda: server.health()[0] == 503, 5, "the gateway notices")
                server.start("worker")
                server.wait_ready()
                self.assertIn("adopted", server.log("worker"))
                self.check(server)
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def test_prefill_scores_do_not_depend_on_chunks_or_mode(self):
        with self.start("-chunk_size", "64") as server:
            small = server.logits_hashes(self.prompt)
        with Server(worker_flags=["--mode", "fast"]) as server:
            self.assertEqual(server.logits_hashes(self.prompt), small)

    @unittest.skipIf(ON_GPU, "the CPU lane's bits are those of the host backend")
    def test_fast_decoding_on_the_cpu_lane_equals_exact_on_the_host(self):
        with Server(worker_flags=["--mode", "fast", "--cpu-lane", "always"]) as server:
            before = server.stats()["lanes"]["picks"]["cpu"]
            self.assertEqual(self.hashes(server), self.want)
            after = server.stats()["lanes"]["picks"]
            self.assertGreaterEqual(after["cpu"] - before, DECODED * 7 * 4, json.dumps(after))
            self.assertEqual(after.get("late", 0), 0)


if __name__ == "__main__":
    unittest.main()
