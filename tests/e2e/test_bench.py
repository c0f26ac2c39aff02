"""The bench clients against a real server: they run, and their results have the promised fields."""

import json
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import xml.etree.ElementTree

from harness import ROOT, SHARED_MEMORY, SLOW, ServerTest

BENCH = os.path.join(ROOT, "bench")
sys.path.insert(0, BENCH)
import stream_rate  # noqa: E402
import sweep  # noqa: E402
from server_client import Server, ServerError  # noqa: E402


class Clients(ServerTest):
    # A short context bounds answers that would go on to its end.
    options = {"worker_flags": ("-cs", "704")}

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-test.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_client(self, name, *flags):
        """-> exit code, output"""
        done = subprocess.run(
            [sys.executable, os.path.join(BENCH, name), *flags], capture_output=True, text=True, timeout=120 * SLOW
        )
        return done.returncode, done.stdout + done.stderr

    def url(self):
        return f"http://127.0.0.1:{self.server.port}"

    def sweep(self, *flags):
        out = os.path.join(self.folder, "sweep.json")
        code, said = self.run_client(
            "sweep.py",
            "--url",
            self.url(),
            "--card",
            "test",
            "--template",
            "glm",
            "--config",
            "a test",
            "--prefill",
            "64",
            "2048",
            "--conc",
            "1",
            "2",
            "--reps",
            "2",
            "--dec-reps",
            "1",
            "--out",
            out,
            *flags,
        )
        with open(out) as f:
            return code, said, json.load(f)

    def test_sweep_measures_saves_and_draws(self):
        plot = os.path.join(self.folder, "sweep.svg")
        code, said, result = self.sweep("--no-early-exit", "--plot", plot)
        self.assertEqual(code, 0, said)
        self.assertEqual((result["status"], result["card"], result["ctx_len"]), ("DONE", "test", 704))
        self.assertEqual(set(result["prefill"]["64"]), {"median", "min", "max", "n", "all"})
        self.assertIn("skipped", result["prefill"]["2048"])
        for name, streams in (("C1", 1), ("C2", 2)):
            entry = result["decode"][name]
            self.assertGreater(entry["aggregate"]["median"], 0)
            self.assertGreaterEqual(entry["rounds"][0]["tokens"], streams)
            self.assertEqual(
                set(entry["rounds"][0]),
                {"aggregate", "per_stream_mean", "per_stream_min", "tokens", "finish", "ttft_max"},
            )
        for key in ("max_running_requests", "max_total_num_tokens", "chunked_prefill_size", "kv_cache_dtype"):
            self.assertIsNotNone(result["server_args"][key], key)
        self.assertEqual(len(result["prompt_sha256"]), 3)
        self.assertEqual(xml.etree.ElementTree.parse(plot).getroot().tag, "{http://www.w3.org/2000/svg}svg")
        self.assertIn("aggregate tok/s", said)

    def test_sweep_needs_no_labels(self):
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        flags = ["--prefill", "64", "--conc", "1", "--reps", "1", "--dec-reps", "1"]
        code, said = self.run_client("sweep.py", "--url", self.url(), *flags)
        self.assertEqual(code, 0, said)
        with open("sweep.json") as f:
            self.assertEqual(json.load(f)["card"], platform.node())

    def test_sweep_stops_early_below_the_best_known(self):
        best = os.path.join(self.folder, "best.json")
        with open(best, "w") as f:
            json.dump({"test": {"prefill_64": 1e9}}, f)
        code, said, result = self.sweep("--best", best)
        self.assertEqual(code, 3, said)
        self.assertTrue(result["status"].startswith("EARLY_EXIT at prefill_64"), result["status"])
        code, said, result = self.sweep("--best", best, "--no-early-exit", "--update-best")
        self.assertEqual(code, 0, said)
        self.assertFalse(result["gates"]["prefill_64"]["pass"])
        with open(best) as f:
            known = json.load(f)["test"]
        self.assertEqual(known["prefill_64"], 1e9)
        self.assertEqual(known["decode_C1"], result["gates"]["decode_C1"]["value"])

    def test_what_is_no_file_of_best_known_values_is_refused(self):
        best = os.path.join(self.folder, "best.json")
        for text in ("[]", '{"test": []}', "nothing"):
            with open(best, "w") as f:
                f.write(text)
            code, said = self.run_client("sweep.py", "--url", self.url(), "--card", "test", "--best", best)
            self.assertEqual(code, 1, said)
            self.assertNotIn("Traceback", said)
        code, said = self.run_client("sweep.py", "--best", "/nowhere/best.json", "--update-best")
        self.assertEqual(code, 2, said)
        self.assertIn("/nowhere/best.json cannot be written", said)

    def test_numbers_that_cannot_be_are_refused(self):
        wrong = (("stream_rate.py", "--span", "nan"), ("stream_rate.py", "--span", "0"), ("serve_speed.py", "--reps", "0"),
                 ("score_ref_panel.py", "--timeout", "0"), ("sweep.py", "--conc", "-1"), ("sweep.py", "--reps", "x"))
        for name, option, value in wrong:
            code, said = self.run_client(name, option, value)
            self.assertEqual(code, 2, said)
            self.assertIn(f"{value} is no number above 0", said)

    def test_sweep_tells_that_nobody_serves(self):
        code, said = self.run_client(
            "sweep.py",
            "--url",
            "http://127.0.0.1:9",
            "--card",
            "x",
            "--config",
            "x",
            "--out",
            os.path.join(self.folder, "x"),
        )
        self.assertEqual(code, 1)
        self.assertIn("http://127.0.0.1:9/server_info", said)

    def test_stream_rate_judges_both_endpoints(self):
        out = os.path.join(self.folder, "rate.json")
        code, said = self.run_client("stream_rate.py", "--url", self.url(), "--span", "0.1", "--out", out)
        self.assertIn(code, (0, 1), said)  # so short a stream is all tail; that is not what is tested here
        with open(out) as f:
            result = json.load(f)
        self.assertEqual(list(result), ["chat", "generate"])
        for figures in result.values():
            self.assertGreater(figures["events"], 10)
            self.assertGreater(figures["chars"], 0)

    def commands(self, url, out):
        panel = os.path.join(ROOT, "reference", "hearth-tiny-panel.json")
        return {
            "sweep.py": ["--url", url, "--card", "x", "--config", "x", "--out", out],
            "stream_rate.py": ["--url", url, "--out", out],
            "score_ref_panel.py": ["--url", url, "--panel", panel, "--out", out],
            "decode_kl.py": ["--url-off", url, "--url-on", url, "--out", out],
        }

    def test_what_cannot_be_measured_is_told_in_a_line(self):
        out = os.path.join(self.folder, "x.json")
        for url in ("no-url", "http://127.0.0.1:port", "http://[::1", "http://127.0.0.1:9"):
            for name, flags in self.commands(url, out).items():
                with self.subTest(client=name, url=url):
                    code, said = self.run_client(name, *flags)
                    self.assertIn(code, (1, 2), said)
                    self.assertIn(url, said)
                    self.assertNotIn("Traceback", said)

    def test_an_answer_that_breaks_off_is_told_in_a_line(self):
        """A server that dies within an answer of known length and within one in chunks."""
        heads = (b"Content-Length: 1000\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n64\r\n{", b"X", b"")
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"

            def break_off(head):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\n" + head)

            for head in heads:
                for ask in (lambda: Server(url).json("/stats"), lambda: list(Server(url).events("/generate", {}))):
                    thread = threading.Thread(target=break_off, args=(head,))
                    thread.start()
                    with self.subTest(head), self.assertRaises(ServerError):
                        ask()
                    thread.join()

    def test_a_result_that_could_not_be_written_is_refused_before_measuring(self):
        for name, flags in self.commands("http://127.0.0.1:9", "/nowhere/at/all.json").items():
            with self.subTest(name):
                code, said = self.run_client(name, *flags)
                self.assertEqual(code, 2, said)
                self.assertIn("/nowhere/at/all.json cannot be written", said)

    def test_what_is_no_panel_is_refused(self):
        bad = os.path.join(self.folder, "bad.json")
        for text in ("", "{}", '{"a": 1}', "[]", '[{"name": "x"}]', "[1]"):
            with open(bad, "w") as f:
                f.write(text)
            with self.subTest(text):
                code, said = self.run_client("score_ref_panel.py", "--url", self.url(), "--panel", bad)
                self.assertEqual(code, 2, said)
                self.assertIn(f"cannot score: {bad}", said)
        code, said = self.run_client("score_ref_panel.py", "--url", self.url(), "--panel", "/nowhere.json")
        self.assertEqual(code, 2, said)
        self.assertNotIn("Traceback", said)

    def test_no_proxy_stands_between_a_client_and_this_machine(self):
        with unittest.mock.patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:9", "no_proxy": ""}):
            flags = self.commands(self.url(), os.path.join(self.folder, "x.json"))["score_ref_panel.py"]
            code, said = self.run_client("score_ref_panel.py", *flags, "--only", "hello")
            self.assertEqual(code, 0, said)

    def test_decode_kl_finds_the_lanes_equal(self):
        out = os.path.join(self.folder, "kl.json")
        code, said = self.run_client("decode_kl.py", "--kl-tokens", "12", "--home-dir", SHARED_MEMORY, "--kl-out", out)
        self.assertEqual(code, 0, said)
        with open(out) as f:
            result = json.load(f)
        # On the host backend both lanes run one kernel.
        self.assertEqual((result["top1_agree"], result["first_divergence"]), (1.0, [None] * 6))
        self.assertLess(result["kl_mean"], 1e-9)
        self.assertGreater(result["lane_picks"]["cpu"], 0)
        self.assertEqual([n for n in os.listdir(SHARED_MEMORY) if n.startswith("hearth-kl.")], [])


class OwnServers(unittest.TestCase):
    """Programs that start servers themselves."""

    def run_program(self, name, *flags):
        """-> exit code, output without the usage that argparse shows"""
        done = subprocess.run(
            [sys.executable, os.path.join(BENCH, name), *flags], capture_output=True, text=True, timeout=120 * SLOW
        )
        said = done.stdout + done.stderr
        return done.returncode, said[said.find(f"{name}: error:") :] if f"{name}: error:" in said else said

    def test_a_folder_without_programs_is_a_wrong_option(self):
        for name in ("serve_speed.py", "decode_kl.py"):
            said = f"{name}: error: --bin: /nowhere has no hearth-cpu-tier; run scripts/build.sh release\n"
            self.assertEqual(self.run_program(name, "--bin", "/nowhere"), (2, said))

    def test_a_server_that_refuses_is_told_by_the_end_of_its_log(self):
        for name in ("serve_speed.py", "decode_kl.py"):
            with self.subTest(name):
                code, said = self.run_program(name, "-m", "/nowhere")
                self.assertEqual(code, 2, said)
                head, *end = said.rstrip().split("\n")
                found = re.fullmatch(rf"{name[:-3]}: the worker ended with 2; the end of its log, (/\S+):", head)
                self.assertIsNotNone(found, said)
                self.addCleanup(os.remove, found[1])
                self.assertLessEqual(len(end), 4, said)
                self.assertIn("/nowhere/config.json: does not exist", end[-1])
                with open(found[1]) as f:
                    log = f.read().rstrip().split("\n")
                self.assertEqual(log[-len(end) :], [line.strip() for line in end])
                self.assertGreater(len(log), len(end))
        self.assertEqual([n for n in os.listdir(SHARED_MEMORY) if n.startswith("hearth-kl.")], [])


class Judgement(unittest.TestCase):
    """Pure parts."""

    def test_an_even_stream_passes_and_a_burst_at_the_end_fails(self):
        even = [(t * 0.1, t + 1) for t in range(200)]
        self.assertTrue(stream_rate.judge(even)["pass"])
        late = [(t * 0.1, t // 4 + 1) for t in range(190)] + [(18.95 + t * 0.01, 48 + 30 * t) for t in range(6)]
        figures = stream_rate.judge(late)
        self.assertFalse(figures["pass"])
        self.assertLess(figures["half_share"], 0.25)
        self.assertGreater(figures["tail_share"], 0.5)
        with self.assertRaises(ServerError):
            stream_rate.judge(even[:2])

    def test_rates_of_a_round(self):
        first = {"begin": 0.0, "first": 1.0, "last": 3.0, "tokens": 21, "finish": "stop"}
        second = {"begin": 0.0, "first": 2.0, "last": 5.0, "tokens": 31, "finish": "length"}
        summary = sweep.summarize_round([first, second])
        self.assertEqual((summary["aggregate"], summary["per_stream_mean"], summary["tokens"]), (13.0, 10.0, 52))
        self.assertEqual((summary["finish"], summary["ttft_max"]), (["length", "stop"], 2.0))


if __name__ == "__main__":
    unittest.main()
