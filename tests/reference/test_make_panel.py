"""reference/make_panel.py gives the panel that lies in reference/. Needs numpy."""

import json
import os
import sys
import unittest

# Small products: threads of the BLAS would only wait for each other, for minutes where cores are shared.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "reference"))
import make_panel  # noqa: E402


class MakePanel(unittest.TestCase):
    def test_it_equals_the_panel_of_hearth_tiny(self):
        with open(os.path.join(ROOT, "reference", "hearth-tiny-panel.json")) as f:
            known = {item["name"]: item for item in json.load(f)}
        names = ["hello", "zero-copy", "weather-tool", "unicode"]  # short, sparse attention, several at once
        items = [{key: known[name][key] for key in ("name", "tokens", "prompt_len")} for name in names]
        said = []
        made = make_panel.make_panel(os.path.join(ROOT, "models", "hearth-tiny"), items, np.float64, said.append)
        self.assertEqual(len(said), 8, "one line a layer")
        for item in made:
            want = known[item["name"]]
            self.assertEqual(len(item["top20_ids"]), len(want["top20_ids"]))
            worst = 0.0
            for ids, lps, want_ids, want_lps in zip(
                item["top20_ids"], item["top20_lp"], want["top20_ids"], want["top20_lp"]
            ):
                self.assertEqual(ids[0], want_ids[0])
                got = dict(zip(ids, lps))
                worst = max([worst] + [abs(got[i] - lp) for i, lp in zip(want_ids, want_lps) if i in got])
            self.assertLess(worst, 6e-5, item["name"])  # that panel was computed in fp32
            self.assertEqual(item["greedy"], want["greedy"])


if __name__ == "__main__":
    unittest.main()
