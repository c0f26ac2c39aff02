"""What one run learns about the experts fills the next run's cache."""

import json
import os
import signal
import tempfile
import unittest

from harness import MODEL, Server, panel

SLOTS = 40  # too few for all experts
PICKS = 4  # of a token in each layer


class WarmStart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = os.path.join(folder.name, "model")
        os.mkdir(self.model)
        for name in set(os.listdir(MODEL)) - {"hearth-popularity.json"}:
            os.symlink(os.path.join(MODEL, name), os.path.join(self.model, name))
        self.record = os.path.join(self.model, "hearth-popularity.json")
        item = panel()["zero-copy"]
        self.prompt = item["tokens"][:item["prompt_len"]]

    def server(self, popularity=""):
        return Server(["--ec-max-slots", str(SLOTS), "--mode", "exact"], model=self.model,
                      env={"HEARTH_POPULARITY": popularity})

    def ask(self, server):
        return server.generate(self.prompt, 24, sampling_params={"ignore_eos": True})["output_ids"]

    def test_the_cache_of_the_next_run_is_warm(self):
        with self.server() as server:
            tokens = self.ask(server)
            server.kill("worker", signal.SIGTERM)
            self.assertNotIn("warm_start", server.log("worker"))
        with open(self.record) as f:
            record = json.load(f)
        self.assertEqual(record["tokens"], 23, "the first token is prefill's")
        self.assertEqual({len(row) for row in record["picks_per_token"]}, {record["experts"]})
        for row in record["picks_per_token"]:
            self.assertAlmostEqual(sum(row), PICKS, delta=0.01)

        with self.server() as server:
            self.assertEqual(server.stats()["expert_cache"]["used"], SLOTS)
            self.assertIn("warm_start", server.log("worker"))
            self.assertEqual(self.ask(server), tokens, "where experts lie changes nothing")
            server.kill("worker", signal.SIGTERM)
        with open(self.record) as f:
            self.assertEqual(json.load(f)["tokens"], 46)

    def test_it_can_be_turned_off(self):
        with self.server("none") as server:
            self.ask(server)
            server.kill("worker", signal.SIGTERM)
        self.assertFalse(os.path.exists(self.record))

    def test_a_foreign_file_is_left_alone(self):
        with open(self.record, "w") as f:
            f.write("mine")
        with self.server() as server:
            self.assertIn("not valid JSON", server.log("worker"))
            self.ask(server)
            server.kill("worker", signal.SIGTERM)
        with open(self.record) as f:
            self.assertEqual(f.read(), "mine")


if __name__ == "__main__":
    unittest.main()
