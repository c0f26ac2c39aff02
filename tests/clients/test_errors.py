"""Each way to fail arrives as the exception type that the openai package has for it."""

import subprocess
import sys
import threading
import unittest

import openai
from support import (
    BIN,
    FAKE_WORKER,
    MODEL,
    ClientTest,
    Server,
    free_port,
    idle,
    sdk,
    state_of,
    temporary_folder,
    user,
    wait_for,
)


class Requests(ClientTest):
    def refused(self, param, **fields):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat("Hello!", **fields)
        self.assertEqual(caught.exception.status_code, 400)
        self.assertEqual(caught.exception.param, param)
        self.assertEqual(caught.exception.type, "invalid_request_error")
        self.assertTrue(caught.exception.body["message"])
        return caught.exception

    def test_bad_fields_are_named(self):
        self.refused("temperature", temperature=3)
        self.refused("top_p", top_p=0)
        self.refused("n", n=0)
        self.refused("max_tokens", max_tokens=0)
        self.refused("stop", stop=["1", "2", "3", "4", "5"])
        self.refused("logit_bias", logit_bias={"x": 1})
        self.refused("top_logprobs", top_logprobs=3)
        self.refused("stream_options", stream_options={"include_usage": True})
        self.refused("service_tier", service_tier="flex")
        self.refused("functions", functions=[{"name": "f", "parameters": {}}])

    def test_a_refusal_before_a_stream_is_the_same(self):
        self.refused("temperature", temperature=3, stream=True)

    def test_bad_messages_are_named(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}])
        self.assertIn("messages", caught.exception.param)
        with self.assertRaises(openai.BadRequestError):
            self.chat([])

    def test_a_long_prompt_is_refused_with_both_numbers(self):
        text = "word " * 9000
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(text)
        self.assertIn("8192", caught.exception.message)
        tokens = len(self.server.post("/tokenize", {"prompt": text})["tokens"])
        numbers = [int(word) for word in caught.exception.message.replace(",", " ").split() if word.isdigit()]
        self.assertTrue(any(tokens <= n <= tokens + 40 for n in numbers), caught.exception.message)

    def test_an_unknown_model_is_not_found(self):
        for call in (
            lambda: self.chat("Hello!", model="gpt-9"),
            lambda: self.client.models.retrieve("gpt-9"),
            lambda: self.client.completions.create(model="gpt-9", prompt="x"),
        ):
            with self.assertRaises(openai.NotFoundError) as caught:
                call()
            self.assertIn("gpt-9", caught.exception.message)
            self.assertEqual(caught.exception.code, "model_not_found")

    def test_an_unknown_route_is_not_found(self):
        with self.assertRaises(openai.NotFoundError):
            self.client.embeddings.create(model=MODEL, input="x")


class FullQueue(unittest.TestCase):
    def test_a_full_queue_is_a_rate_limit_with_retry_after(self):
        with Server(worker_flags=["--max-sequences", "1", "--max-q-size", "1"]) as server, sdk(server) as client:

            def long_stream():
                return client.chat.completions.create(
                    model=MODEL,
                    messages=user("Write."),
                    max_tokens=4000,
                    stream=True,
                    temperature=0,
                    extra_body={"ignore_eos": True},
                )

            running = long_stream()
            wait_for(lambda: server.stats()["requests_running"] == 1, 10, "one request runs")
            queued = long_stream()
            wait_for(lambda: server.stats()["requests_waiting"] == 1, 10, "one request waits")
            with self.assertRaises(openai.RateLimitError) as caught:
                client.chat.completions.create(model=MODEL, messages=user("Hello!"))
            self.assertEqual(caught.exception.status_code, 429)
            self.assertGreater(float(caught.exception.response.headers["retry-after"]), 0)
            # The package's own retries get through once there is room: this is what Retry-After is for.
            threading.Timer(0.5, lambda: (queued.close(), running.close())).start()
            with sdk(server, max_retries=5) as patient:
                answer = patient.chat.completions.create(model=MODEL, messages=user("Hello!"), max_tokens=2)
            self.assertEqual(answer.usage.completion_tokens, 2)
            wait_for(lambda: idle(server.stats()), 2, "nothing is left")


class Keys(unittest.TestCase):
    def test_a_wrong_key_is_an_authentication_error(self):
        with Server(gateway_flags=["--api-key", "sesame"]) as server:
            for key in ("wrong", "sesam", "sesame2"):
                with sdk(server, api_key=key) as client, self.assertRaises(openai.AuthenticationError):
                    client.chat.completions.create(model=MODEL, messages=user("Hello!"))
            with sdk(server, api_key="sesame") as client:
                self.assertTrue(client.models.list().data)
                self.assertTrue(client.chat.completions.create(model=MODEL, messages=user("Hello!"), max_tokens=1).id)


class Unavailable(unittest.TestCase):
    def assert_503_everywhere(self, client, word):
        for call in (
            client.models.list,
            lambda: client.models.retrieve(MODEL),
            lambda: client.chat.completions.create(model=MODEL, messages=user("Hello!")),
            lambda: client.chat.completions.create(model=MODEL, messages=user("Hello!"), stream=True),
            lambda: client.completions.create(model=MODEL, prompt="x"),
        ):
            with self.assertRaises(openai.APIStatusError) as caught:
                call()
            self.assertEqual(caught.exception.status_code, 503)
            self.assertIsInstance(caught.exception, openai.InternalServerError)
            self.assertGreater(float(caught.exception.response.headers["retry-after"]), 0)
            self.assertIn(word, caught.exception.message)

    def test_a_dead_worker(self):
        with Server(tier=False) as server, sdk(server) as client:
            server.kill("worker")
            wait_for(lambda: server.health()[0] == 503, 5, "health notices")
            self.assert_503_everywhere(client, "worker")

    def test_a_stream_whose_worker_dies_raises(self):
        with Server(tier=False) as server, sdk(server) as client:
            stream = client.chat.completions.create(
                model=MODEL, messages=user("Write."), max_tokens=4000, stream=True, extra_body={"ignore_eos": True}
            )
            next(iter(stream))
            server.kill("worker")
            with self.assertRaises(openai.APIError) as caught:
                for _ in stream:
                    pass
            self.assertIn("worker", caught.exception.message)

    def test_a_worker_in_every_other_state(self):
        for state, health_state, word in (
            ("loading", "loading", "load"),
            ("draining", "draining", "drain"),
        ):
            with self.subTest(state), temporary_folder() as folder:
                address, port = f"unix:{folder}/w.sock", free_port()
                processes = [
                    subprocess.Popen(
                        [sys.executable, FAKE_WORKER, address, "--state", state], stderr=subprocess.DEVNULL
                    ),
                    subprocess.Popen(
                        [f"{BIN}/hearth-gateway", "--port", str(port), "--worker", address],
                        stderr=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                    ),
                ]
                try:
                    with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="x", max_retries=0) as client:
                        wait_for(lambda: state_of(port) == health_state, 20, f"health says {health_state}")
                        self.assert_503_everywhere(client, word)
                finally:
                    for process in processes:
                        process.kill()
                        process.wait()


if __name__ == "__main__":
    unittest.main()
