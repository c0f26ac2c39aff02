"""What bench/decode_kl.py judges, without a server. Standard library only."""

import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import decode_kl  # noqa: E402


def total(**picks):
    return {"kl_mean": 0.0, "top1_agree": 1.0, "top1_margin_above_0.5": 1.0, "lane_picks": picks}


class FakeServer:
    """A server that has answered others before; each answer takes 100 picks to the CPU, of which 3 are late."""

    def __init__(self):
        self.picks = {"vram": 7, "pcie": 9, "cpu": 5000, "staged": 0, "late": 5000}

    def json(self, path, body=None, timeout=None):
        if path == "/stats":
            return {"lanes": {"picks": dict(self.picks)}}
        self.picks["cpu"] += 100
        self.picks["late"] += 3
        row = [[-0.1, 5, None]]
        return {"output_ids": [5], "meta_info": {"input_token_ids_logprobs": [row], "input_top_logprobs": [row]}}


class Lane(unittest.TestCase):
    def test_a_lane_in_time_passes(self):
        self.assertEqual(decode_kl.failures(total(cpu=3200, late=0)), [])
        self.assertEqual(decode_kl.failures(total(cpu=3200, late=320)), [])

    def test_late_picks_are_not_the_lanes(self):
        for late, computed in ((3200, 0), (321, 2879)):
            (said,) = decode_kl.failures(total(cpu=3200, late=late))
            self.assertIn(f"the CPU lane computed {computed} of the 3200 picks that it was given, below 90%", said)

    def test_a_lane_that_was_given_nothing_fails(self):
        (said,) = decode_kl.failures(total(cpu=0, late=0))
        self.assertIn("lane on was not on", said)

    def test_only_the_picks_of_these_questions_count(self):
        case = {"prompt": [1, 2], "answer": [5], "rows": [[[-0.1, 5, None]]]}
        picks = decode_kl.ask_lane_on(FakeServer(), [case])
        self.assertEqual(picks, {"vram": 0, "pcie": 0, "cpu": 200, "staged": 0, "late": 6})


if __name__ == "__main__":
    unittest.main()
