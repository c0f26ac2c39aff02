"""300 random requests, each sent streamed and unstreamed: the deltas add up to the message, every event is whole UTF-8
and whole JSON, no stop string is in what was sent. Requests and expectations are drawn from a fixed seed."""

import concurrent.futures
import http.client
import json
import random
import subprocess
import sys
import unittest

from support import (
    BIN,
    FAKE_WORKER,
    MODEL,
    SLOW,
    ClientTest,
    free_port,
    shared_server,
    state_of,
    temporary_folder,
    wait_for,
    weather_question,
)

REQUESTS = 300
WORDS = (
    "東京 Zürich São Paulo",
    "🙂🙃🙂",
    "naïve 你好",
    "Explain zero-copy model offloading.",
    "Hello!",
    "the sea",
    "rivers",
    "\u0301\u0301e",
    "𝔘𝔫𝔦",
    "مرحبا",
    "12 + 30",
    "<|user|> </think>",
    "one\ntwo\n\n",
    "Write a long essay on",
)
STOPS = (".", " the", "e", "a ", "o", "\n", "?", "東", "in", "and", " ", "He", "ll", "model", "experts", "ü")


class Draw:
    def __init__(self, seed, weather):
        self.rng = random.Random(seed)
        self.weather = weather

    def text(self):
        return " ".join(self.rng.choice(WORDS) for _ in range(self.rng.randint(1, 4)))

    def sampling(self):
        r = self.rng
        fields = {"max_tokens": r.choice([1, 2, 5, 12, 24])}
        if r.random() < 0.5:
            fields["temperature"] = 0
        else:
            fields.update(temperature=r.choice([0.7, 1.0, 1.8]), seed=r.randrange(2**63))
            if r.random() < 0.4:
                fields["top_p"] = r.choice([0.5, 0.9])
            if r.random() < 0.3:
                fields["top_k"] = r.choice([5, 40])
        if r.random() < 0.2:
            fields["frequency_penalty"] = 0.7
        if r.random() < 0.4:
            fields["stop"] = r.sample(STOPS, r.randint(1, 4))
        if r.random() < 0.2:
            fields["n"] = 2
        return fields

    def chat(self):
        r = self.rng
        body = {"model": MODEL, "messages": [{"role": "user", "content": self.text()}], **self.sampling()}
        if r.random() < 0.4:
            question, tools = r.choice(self.weather)
            body["tools"] = tools
            if r.random() < 0.7:
                body["messages"][0]["content"] = question
            body["max_tokens"] = r.choice([10, 25, 60])
        if r.random() < 0.4:
            body["reasoning_effort"] = "none"
        if r.random() < 0.3:
            body.update(logprobs=True, top_logprobs=r.choice([0, 2]))
        return "/v1/chat/completions", body

    def completion(self):
        return "/v1/completions", {"model": MODEL, "prompt": self.text(), **self.sampling()}

    def request(self):
        return self.completion() if self.rng.random() < 0.3 else self.chat()


def post(port, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60 * SLOW)
    try:
        connection.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        response = connection.getresponse()
        data = response.read()
        if response.status != 200:
            raise AssertionError(f"{response.status}: {data!r} for {body}")
        return data
    finally:
        connection.close()


def events_of(data):
    """Every event decoded by itself, so that a character split between two of them is an error."""
    blocks = data.split(b"\n\n")
    if blocks.pop() != b"":
        raise AssertionError("the last event is not ended")
    events = []
    for block in blocks:
        if block.startswith(b": "):
            continue
        if not block.startswith(b"data: ") or b"\n" in block:
            raise AssertionError(f"not an event: {block!r}")
        events.append(block[6:].decode("utf-8"))
    if events.pop() != "[DONE]":
        raise AssertionError("no [DONE]")
    return [json.loads(event) for event in events]


def no_split_characters(value):
    """A lone surrogate escape cannot be encoded."""
    json.dumps(value, ensure_ascii=False).encode("utf-8")


def new_choice():
    return {"text": "", "content": "", "reasoning_content": "", "calls": [], "finish": None, "logprobs": []}


def add_up(events, n):
    choices = [new_choice() for _ in range(n)]
    for event in events:
        if "error" in event:
            raise AssertionError(f"error event {event}")
        no_split_characters(event)
        for part in event["choices"]:
            choice = choices[part["index"]]
            delta = part.get("delta", part)
            for field in ("text", "content", "reasoning_content"):
                choice[field] += delta.get(field) or ""
            for call in delta.get("tool_calls") or []:
                if call["index"] == len(choice["calls"]):
                    choice["calls"].append([call["function"]["name"], ""])
                choice["calls"][call["index"]][1] += call["function"]["arguments"]
            choice["logprobs"] += (part.get("logprobs") or {}).get("content") or []
            choice["finish"] = part["finish_reason"] or choice["finish"]
    return choices


def whole_of(answer):
    choices = []
    for part in answer["choices"]:
        choice, message = new_choice(), part.get("message", part)
        for field in ("text", "content", "reasoning_content"):
            choice[field] = message.get(field) or ""
        choice["calls"] = [[c["function"]["name"], c["function"]["arguments"]] for c in message.get("tool_calls") or []]
        choice["logprobs"] = (part.get("logprobs") or {}).get("content") or []
        choice["finish"] = part["finish_reason"]
        choices.append(choice)
    return choices


class StreamEqualsWhole(ClientTest):
    seen = {"calls": 0, "stopped early": 0, "not ASCII": 0, "sampled": 0}

    def count(self, body, whole):
        """That the requests drawn are of the kinds this is about; races of the threads do not matter for that."""
        self.seen["calls"] += any(c["calls"] for c in whole)
        self.seen["stopped early"] += "stop" in body and any(c["finish"] == "stop" for c in whole)
        self.seen["not ASCII"] += any(not (c["text"] + c["content"] + c["reasoning_content"]).isascii() for c in whole)
        self.seen["sampled"] += "seed" in body

    def check(self, number):
        path, body = Draw(number, self.weather).request()
        whole_answer = json.loads(post(self.server.port, path, body))
        whole = whole_of(whole_answer)
        parts = add_up(events_of(post(self.server.port, path, {**body, "stream": True})), len(whole))
        self.count(body, whole)
        # Log-probabilities of a token depend on nothing but the tokens before it; batches may round them differently.
        for choice in (*whole, *parts):
            choice["logprobs"] = [e["token"] for e in choice["logprobs"]]
        if parts != whole:
            return f"request {number} {json.dumps(body, ensure_ascii=False)}\n  whole  {whole}\n  stream {parts}"
        leaks = [stop for stop in body.get("stop", []) for c in whole if stop in c["content"] or stop in c["text"]]
        return f"request {number} leaks {leaks}: {whole}" if leaks else None

    def test_streamed_equals_unstreamed(self):
        self.__class__.weather = [weather_question("weather-tool"), weather_question("weather-two")]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            problems = [p for p in pool.map(self.check, range(REQUESTS)) if p]
        self.assertEqual(problems, [], "\n".join(problems[:5]))
        for kind, number in self.seen.items():
            self.assertGreater(number, 10, f"requests with {kind}: {self.seen}")


class SplitCharacters(unittest.TestCase):
    """Characters that arrive a byte at a time, from a worker that is told what to say."""

    TEXT = "東京 Zürich 🙂🙃 𝔘𝔫𝔦 e\u0301 مرحبا 你好!"

    def test_every_event_holds_whole_characters(self):
        ids = shared_server().post("/tokenize", {"prompt": self.TEXT})["tokens"]
        self.assertGreater(len(ids), len(self.TEXT), "hearth-tiny cuts these characters")
        with temporary_folder() as folder:
            address, port = f"unix:{folder}/w.sock", free_port()
            fake = [
                sys.executable,
                FAKE_WORKER,
                address,
                "--tokens",
                ",".join(map(str, ids)),
                "--tokens-per-second",
                "2000",
            ]
            gateway = [f"{BIN}/hearth-gateway", "--port", str(port), "--worker", address]
            processes = [
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for command in (fake, gateway)
            ]
            try:
                wait_for(lambda: state_of(port) == "ready", 20, "the gateway is ready")
                for path, body in (
                    ("/v1/completions", {"prompt": "x"}),
                    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
                    (
                        "/v1/chat/completions",
                        {"messages": [{"role": "user", "content": "x"}], "reasoning_effort": "none"},
                    ),
                ):
                    body.update(max_tokens=len(ids), temperature=0)
                    events = events_of(post(port, path, {**body, "stream": True}))
                    for event in events:
                        self.assertNotIn("\ufffd", json.dumps(event, ensure_ascii=False))
                    choice = add_up(events, 1)[0]
                    self.assertEqual(choice["text"] + choice["reasoning_content"] + choice["content"], self.TEXT)
                    self.assertEqual([choice], whole_of(json.loads(post(port, path, body))))
            finally:
                for process in processes:
                    process.kill()
                    process.wait()

    def test_a_character_that_stays_unfinished_is_replaced_once(self):
        ids = shared_server().post("/tokenize", {"prompt": "🙂"})["tokens"]
        body = {"model": MODEL, "prompt": ids[:-1], "max_tokens": 1, "echo": True, "temperature": 0}
        text = json.loads(post(shared_server().port, "/v1/completions", body))["choices"][0]["text"]
        streamed = add_up(events_of(post(shared_server().port, "/v1/completions", {**body, "stream": True})), 1)[0][
            "text"
        ]
        self.assertEqual(streamed, text)


if __name__ == "__main__":
    unittest.main()
