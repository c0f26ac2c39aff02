"""Everything that a server's threads do, at the same time: streams, answers of a form, tool calls, clients that leave,
scoring, figures being read, a CPU tier that dies and comes back, and both ways to drain. scripts/test.sh tsan-e2e runs this
under the thread sanitizer."""

import json
import signal
import time
import unittest
import urllib.request

from harness import InBackground, Server, collect_chat, panel, wait_for

ROUNDS = 3
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer", "minimum": 0, "maximum": 9}},
          "required": ["ok", "n"], "additionalProperties": False}
CITIES = ["Paris", "Rome"]
TOOLS = [{"type": "function", "function": {"name": "get_weather", "strict": True, "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "enum": CITIES}}, "required": ["city"],
    "additionalProperties": False}}}]


class AtOnce(unittest.TestCase):
    # Few slots and a CPU lane that is always used: the expert cache admits and evicts, the link is busy.
    FLAGS = ["--mode", "fast", "--cpu-lane", "always", "--ec-max-slots", "48"]

    def test_no_request_disturbs_another(self):
        with Server(worker_flags=self.FLAGS) as server:
            self.server = server
            item = panel()["essay"]
            self.prompt = item["tokens"][: item["prompt_len"]]
            self.want = server.generate(self.prompt, 24, sampling_params={"ignore_eos": True})["output_ids"]
            work = [self.streams, self.streams, self.answers_of_a_form, self.leaves, self.scores, self.two_choices]
            running = [InBackground(self.repeated, kind) for kind in work] + [InBackground(self.calls_tools)]
            figures = InBackground(self.reads_figures, running)
            server.kill("tier")
            wait_for(lambda: server.health()[1].get("degraded"), 10, "health says degraded")
            server.start("tier")
            wait_for(lambda: not server.health()[1].get("degraded"), 20, "the new CPU tier is taken up")
            for thread in running:
                thread.result(60)
            figures.result(10)
            wait_for(lambda: server.stats()["requests_running"] == 0, 10, "who has left uses nothing")
            self.drains("worker")
            # Else the old worker's last answer would count as the new one's.
            wait_for(lambda: server.health()[0] == 503, 10, "the gateway notices that the worker has gone")
            server.start("worker")
            server.wait_ready(with_tier=True)
            self.drains("gateway")
            for name in ("worker", "tier"):
                server.kill(name, signal.SIGTERM)
                self.assertEqual(server.processes[name].returncode, 0, server.log(name))

    @staticmethod
    def repeated(kind):
        for number in range(ROUNDS):
            kind(number)

    def long_stream(self, tokens):
        return self.server.stream("/generate", {
            "input_ids": self.prompt, "stream": True,
            "sampling_params": {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}})

    def streams(self, _):
        *_, last, done = [event for _, event in self.long_stream(24)]
        self.assertEqual(done, "[DONE]")
        self.assertEqual(last["output_ids"], self.want)

    def answers_of_a_form(self, number):
        body = self.server.chat("Answer.", enable_thinking=False, temperature=1, seed=number, max_tokens=60, stream=True,
                                response_format={"type": "json_schema",
                                                 "json_schema": {"name": "answer", "schema": SCHEMA}})
        message, finish, _, _ = collect_chat(self.server.stream("/v1/chat/completions", body))
        if finish == "stop":
            self.assertEqual(sorted(json.loads(message["content"])), ["n", "ok"])

    def calls_tools(self):
        body = self.server.chat("How is the weather?", enable_thinking=False, temperature=1, seed=1, max_tokens=60,
                                tools=TOOLS, tool_choice="required", parallel_tool_calls=False, stream=True)
        message, finish, _, _ = collect_chat(self.server.stream("/v1/chat/completions", body))
        self.assertEqual(finish, "tool_calls")
        call = message["tool_calls"][0]
        self.assertIn(json.loads(call["function"]["arguments"])["city"], CITIES)
        result = {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}
        messages = body["messages"] + [{"role": "assistant", **message}, result]
        self.server.post("/v1/chat/completions",
                         {**body, "messages": messages, "tool_choice": "none", "max_tokens": 12, "stream": False})

    def leaves(self, _):
        for count, _ in enumerate(self.long_stream(2000)):
            if count == 5:
                break

    def scores(self, _):
        self.assertEqual(len(self.server.logits_hashes(self.prompt)), len(self.prompt))

    def two_choices(self, number):
        body = {"model": "hearth-tiny", "prompt": "The morning was cold and", "max_tokens": 12, "n": 2, "seed": number}
        self.assertEqual(len(self.server.post("/v1/completions", body)["choices"]), 2)

    def reads_figures(self, running):
        ports = [self.server.port, *self.server.metrics_ports.values()]
        while any(thread.is_alive() for thread in running):
            self.assertEqual(self.server.get("/stats")[0], 200)
            for port in ports:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60).read()
                except OSError:
                    pass  # the CPU tier's, while it is gone
            time.sleep(0.05)

    def drains(self, name):
        """SIGTERM: what runs is finished, the process ends with 0."""
        stream = self.long_stream(40)
        next(stream)
        self.server.processes[name].send_signal(signal.SIGTERM)
        events = [event for _, event in stream]
        self.assertEqual(events[-1], "[DONE]")
        self.assertEqual(events[-2]["output_ids"][:24], self.want)
        self.server.processes[name].wait(timeout=300)
        self.assertEqual(self.server.processes[name].returncode, 0, self.server.log(name))


if __name__ == "__main__":
    unittest.main()
