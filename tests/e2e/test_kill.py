"""Dead processes are a normal state: streams survive the CPU tier, clients learn of a dead worker at once."""

import random
import signal
import time
import unittest
import urllib.request

from harness import InBackground, Server, panel, wait_for

KILLS = 20


def prompt():
    item = panel()["essay"]
    return item["tokens"][: item["prompt_len"]]


class CpuTierDies(unittest.TestCase):
    def test_a_stream_goes_on_with_the_tokens_of_exact_mode(self):
        tokens = 400
        with Server(worker_flags=["--mode", "exact"]) as server:
            want = server.generate(prompt(), tokens, sampling_params={"ignore_eos": True})["output_ids"]
        rng = random.Random(7)
        with Server(worker_flags=["--mode", "fast", "--cpu-lane", "always"]) as server:
            for kill in range(KILLS):
                at = rng.randrange(1, tokens - 100)
                body = {"input_ids": prompt(), "stream": True,
                        "sampling_params": {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}}
                got, killed = [], False
                before = server.stats()["lanes"]["picks"]["cpu"]
                for _, event in server.stream("/generate", body):
                    if event == "[DONE]":
                        break
                    self.assertNotIn("error", event)
                    got = event["output_ids"]
                    if len(got) >= at and not killed:
                        killed = True
                        server.kill("tier")
                self.assertTrue(killed)
                self.assertEqual(got, want, f"kill {kill} at token {at}")
                self.assertGreater(server.stats()["lanes"]["picks"]["cpu"], before, "the CPU lane was in use")
                wait_for(lambda: server.health()[1].get("degraded"), 5, "health says degraded")
                self.assertEqual(server.health()[0], 200)
                server.start("tier")
                wait_for(lambda: not server.health()[1].get("degraded"), 10, "the new CPU tier is taken up")

    def test_a_tier_stopped_for_five_seconds_is_survived_and_taken_back(self):
        def metric(server, name):
            text = urllib.request.urlopen(f"http://127.0.0.1:{server.metrics_ports['worker']}/metrics").read().decode()
            return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + " "))

        with Server(worker_flags=["--mode", "fast", "--cpu-lane", "always"]) as server:
            want = server.generate(prompt(), 60, sampling_params={"ignore_eos": True})["output_ids"]
            self.assertEqual(metric(server, "hearth_cpu_tier_up"), 1)
            timeouts = metric(server, "hearth_cpu_tier_timeouts_total")
            body = {"input_ids": prompt(), "stream": True,
                    "sampling_params": {"temperature": 0, "max_new_tokens": 60, "ignore_eos": True}}
            stopped = None
            for _, event in server.stream("/generate", body):
                if event == "[DONE]":
                    break
                self.assertNotIn("error", event)
                got = event["output_ids"]
                if stopped is None and len(got) >= 10:
                    stopped = time.monotonic()
                    server.kill("tier", signal.SIGSTOP)
            self.assertEqual(got, want, "the stream that was running")
            wait_for(lambda: server.health()[1].get("degraded"), 5, "health says degraded")
            self.assertEqual(metric(server, "hearth_cpu_tier_up"), 0)
            self.assertGreater(metric(server, "hearth_cpu_tier_timeouts_total"), timeouts)
            while time.monotonic() < stopped + 5:
                got = server.generate(prompt(), 60, sampling_params={"ignore_eos": True})["output_ids"]
                self.assertEqual(got, want)
            server.kill("tier", signal.SIGCONT)
            wait_for(lambda: not server.health()[1].get("degraded"), 10, "the tier is taken back")
            self.assertEqual(metric(server, "hearth_cpu_tier_up"), 1)
            got = server.generate(prompt(), 60, sampling_params={"ignore_eos": True})["output_ids"]
            self.assertEqual(got, want)


class WorkerDies(unittest.TestCase):
    def test_clients_get_an_error_event_and_a_new_worker_adopts_the_home(self):
        with Server() as server:
            died = []

            def read():
                body = {"input_ids": prompt(), "stream": True,
                        "sampling_params": {"temperature": 0, "max_new_tokens": 4000, "ignore_eos": True}}
                events = 0
                for _, event in server.stream("/generate", body):
                    events += 1
                    if event != "[DONE]" and "error" in event:
                        return time.monotonic(), event
                return time.monotonic(), None

            readers = [InBackground(read) for _ in range(3)]
            wait_for(lambda: server.stats()["requests_running"] == 3, 20, "three streams run")
            time.sleep(0.3)
            died.append(time.monotonic())
            server.kill("worker")
            for reader in readers:
                at, event = reader.result(10)
                self.assertIsNotNone(event, "an error event ends the stream")
                self.assertIn("message", event["error"])
                self.assertLess(at - died[0], 2.0)
            wait_for(lambda: server.health()[0] == 503, 2, "health is 503")
            self.assertEqual(server.health()[1].get("state"), "worker_down")
            status, _, body = server.request("POST", "/v1/chat/completions", server.chat("Hello!"))
            self.assertEqual(status, 503, body)
            begin = time.monotonic()
            server.start("worker")
            server.wait_ready(20)
            self.assertLess(time.monotonic() - begin, 10)
            self.assertIn("adopted", server.log("worker"))
            self.assertTrue(server.stats()["load"]["adopted"])
            server.post("/v1/chat/completions", server.chat("Hello!"))

    def test_a_scoring_that_is_hit_is_refused_clearly(self):
        with Server() as server:
            ids = (prompt() * 8000)[:8000]
            body = {"input_ids": ids, "sampling_params": {"max_new_tokens": 0}, "return_logprob": True,
                    "logprob_start_len": 0}
            scoring = InBackground(lambda: server.request("POST", "/generate", body))
            wait_for(lambda: server.stats()["requests_running"] + server.stats()["requests_waiting"] > 0, 10, "it runs")
            server.kill("worker")
            status, headers, answer = scoring.result(20)
            self.assertEqual(status, 503, answer)
            self.assertIn("the worker is not available", answer["error"]["message"])
            self.assertIn("Retry-After", headers)

    def test_a_dead_gateway_leaves_nothing_running(self):
        with Server() as server:
            body = {"input_ids": prompt(), "stream": True,
                    "sampling_params": {"temperature": 0, "max_new_tokens": 6000, "ignore_eos": True}}
            reader = InBackground(lambda: list(server.stream("/generate", body)))
            wait_for(lambda: server.stats()["requests_running"] == 1, 10, "a stream runs")
            server.kill("gateway")
            reader.join(10)  # cut off: an exception or an early end, but no regular one
            self.assertFalse(reader.is_alive())
            self.assertFalse(reader.value and reader.value[-1][1] == "[DONE]")
            server.start("gateway")
            server.wait_ready(10)
            wait_for(lambda: server.stats()["requests_running"] == 0, 2, "the worker cancelled the stream")


if __name__ == "__main__":
    unittest.main()
