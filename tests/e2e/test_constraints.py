"""Answers whose form is enforced: JSON, schemas, expressions, choices, calls, and the thinking budget.

The model of these tests is tiny and knows none of these tasks: its answers have the form because it was enforced.
"""

import json
import random
import re
import unittest

import jsonschema

from harness import ServerTest, collect_chat

LIMIT = 400


def random_schema(rng, depth=2):
    kind = rng.randrange(11 if depth else 8)
    if kind == 0:
        return {"type": "boolean"}
    if kind == 1:
        return {"type": "integer", "minimum": rng.randint(-50, 0), "maximum": rng.randint(1, 500)}
    if kind == 2:
        return {"type": "number", "minimum": 0, "exclusiveMaximum": rng.choice([1, 10, 2.5])}
    if kind == 3:
        return {"type": "string", "minLength": rng.randint(0, 2), "maxLength": rng.randint(2, 6)}
    if kind == 4:
        return {"enum": rng.sample(["red", "green", 1, 2.5, None, True, "b\"l\nue", "é"], 3)}
    if kind == 5:
        return {"type": "string", "pattern": rng.choice(["^[a-z]{2,5}$", "^(yes|no)$", r"^\d{3}-\d{4}$", "^[A-F0-9]{4}$"])}
    if kind == 6:
        return {"type": ["integer", "null"]}
    if kind == 7:
        return {"type": "string", "format": rng.choice(["date", "uuid", "ipv4"])}
    if kind == 8:
        return {"type": "array", "items": random_schema(rng, depth - 1), "minItems": rng.randint(0, 1),
                "maxItems": rng.randint(1, 3)}
    if kind == 9:
        return {"anyOf": [random_schema(rng, depth - 1), {"type": "null"}]}
    names = rng.sample(["name", "age", "tags", "größe", "a b"], rng.randint(1, 3))
    return {"type": "object", "properties": {n: random_schema(rng, depth - 1) for n in names},
            "required": rng.sample(names, rng.randint(0, len(names))), "additionalProperties": False}


def wrap(schema):
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def tool(name, properties, required=(), strict=False):
    function = {"name": name, "parameters": {"type": "object", "properties": properties, "required": list(required),
                                             "additionalProperties": False}}
    if strict:
        function["strict"] = True
    return {"type": "function", "function": function}


TOOLS = [
    tool("get_weather", {"city": {"type": "string"}, "days": {"type": "integer"}}, ["city"]),
    tool("ping", {}),
]


class ConstraintTest(ServerTest):
    def answer(self, prompt="Answer.", **fields):
        fields.setdefault("enable_thinking", False)
        fields.setdefault("max_tokens", LIMIT)
        body = self.server.chat(prompt, **fields)
        return self.server.post("/v1/chat/completions", body)["choices"][0]

    def check_schema(self, schema, choice):
        if choice["finish_reason"] == "length":
            return False
        self.assertEqual(choice["finish_reason"], "stop")
        value = json.loads(choice["message"]["content"])
        jsonschema.validate(value, schema, format_checker=jsonschema.FormatChecker())
        return True

    def test_schemas_are_obeyed(self):
        rng = random.Random(1)
        complete = 0
        for i in range(64):
            schema = random_schema(rng)
            with self.subTest(i=i, schema=schema):
                fields = {"temperature": i % 2, "seed": i, "response_format": wrap(schema)}
                complete += self.check_schema(schema, self.answer(f"Number {i}", **fields))
        self.assertGreaterEqual(complete, 58, "nearly all of these are short enough to end within the limit")

    def test_schema_begins_after_thinking(self):
        schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
        thoughts = 0
        for seed in range(6):
            choice = self.answer(enable_thinking=True, max_thinking_tokens=12, temperature=1, seed=seed,
                                 response_format=wrap(schema))
            self.assertTrue(self.check_schema(schema, choice))
            thoughts += choice["message"]["reasoning_content"] is not None
        self.assertGreater(thoughts, 0, "reasoning is free")

    def test_recursive_schema(self):
        schema = {"$ref": "#/$defs/node", "$defs": {"node": {
            "type": "object", "properties": {"v": {"type": "boolean"},
                                             "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}},
            "required": ["v", "next"], "additionalProperties": False}}}
        done = [self.check_schema(schema, self.answer(temperature=1, seed=s, response_format=wrap(schema)))
                for s in range(5)]
        self.assertTrue(any(done))

    def test_json_object(self):
        done = 0
        for seed in range(8):
            choice = self.answer(temperature=seed % 2, seed=seed, response_format={"type": "json_object"})
            text = choice["message"]["content"]
            self.assertTrue(text.startswith("{"))
            if choice["finish_reason"] == "stop":
                self.assertIsInstance(json.loads(text), dict)
                done += 1
        self.assertGreaterEqual(done, 1)

    def test_regex_and_choice(self):
        for temperature in (0, 1):
            text = self.answer(temperature=temperature, seed=3, guided_regex=r"[A-Z]{3}-\d{2,4}(\.é+?){2}")["message"]["content"]
            self.assertRegex(text, r"\A[A-Z]{3}-\d{2,4}(\.é+){2}\Z")
            text = self.answer(temperature=temperature, seed=3, guided_choice=["alpha", "beta", "betamax"])["message"]["content"]
            self.assertIn(text, ["alpha", "beta", "betamax"])
        thought = self.answer(enable_thinking=True, max_thinking_tokens=5, guided_choice=["yes", "no"])["message"]
        self.assertIn(thought["content"], ["yes", "no"])

    def test_completions(self):
        body = {"prompt": "x", "max_tokens": LIMIT, "temperature": 1, "seed": 1, "n": 2}
        for choice in self.server.post("/v1/completions", {**body, "guided_choice": ["one", "two"]})["choices"]:
            self.assertIn(choice["text"], ["one", "two"])
        for choice in self.server.post("/v1/completions", {**body, "guided_regex": "[ab]{5}"})["choices"]:
            self.assertRegex(choice["text"], r"\A[ab]{5}\Z")
        schema = {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2}
        for choice in self.server.post("/v1/completions", {**body, "response_format": wrap(schema)})["choices"]:
            jsonschema.validate(json.loads(choice["text"]), schema)

    def check_calls(self, choice, names, most=None):
        calls = choice["message"]["tool_calls"]
        self.assertIsNone(choice["message"]["content"])
        for call in calls:
            self.assertIn(call["function"]["name"], names)
        if choice["finish_reason"] == "length":
            return
        self.assertEqual(choice["finish_reason"], "tool_calls")
        self.assertLessEqual(len(calls), most or len(calls))
        for call in calls:
            arguments = json.loads(call["function"]["arguments"])
            if call["function"]["name"] == "get_weather":
                self.assertIn("city", arguments)
                self.assertLessEqual(set(arguments), {"city", "days"})
            else:
                self.assertEqual(arguments, {})

    def test_required_calls(self):
        for thinking in (False, True):
            for seed in range(3):
                extra = {"max_thinking_tokens": 10} if thinking else {}
                choice = self.answer(tools=TOOLS, tool_choice="required", enable_thinking=thinking, temperature=1,
                                     seed=seed, **extra)
                self.assertTrue(choice["message"]["tool_calls"])
                self.check_calls(choice, {"get_weather", "ping"})

    def test_named_function_is_called_once(self):
        named = {"type": "function", "function": {"name": "ping"}}
        for thinking in (False, True):
            extra = {"max_thinking_tokens": 10} if thinking else {}
            for temperature in (0, 1):
                choice = self.answer(tools=TOOLS, tool_choice=named, enable_thinking=thinking, temperature=temperature,
                                     seed=5, **extra)
                self.assertEqual([c["function"]["name"] for c in choice["message"]["tool_calls"]], ["ping"])
                self.assertEqual(choice["finish_reason"], "tool_calls")

    def test_one_call_at_most(self):
        for seed in range(4):
            choice = self.answer(tools=TOOLS, tool_choice="required", parallel_tool_calls=False, temperature=1, seed=seed)
            self.assertEqual(len(choice["message"]["tool_calls"]), 1)
            self.check_calls(choice, {"get_weather", "ping"}, most=1)
            free = self.answer(tools=TOOLS, parallel_tool_calls=False, temperature=1, seed=seed, max_tokens=60)
            self.assertLessEqual(len(free["message"].get("tool_calls") or []), 1)

    def test_strict_function(self):
        strict = tool("book", {"seat": {"type": "string", "enum": ["A", "B"]},
                               "count": {"type": "integer", "minimum": 1, "maximum": 9},
                               "when": {"type": "string", "format": "date"}}, ["seat", "count"], strict=True)
        for seed in range(4):
            choice = self.answer(tools=[strict], tool_choice="required", parallel_tool_calls=False, temperature=1, seed=seed)
            arguments = json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"])
            jsonschema.validate(arguments, strict["function"]["parameters"], format_checker=jsonschema.FormatChecker())

    def test_streamed_equals_whole(self):
        schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 8}, "b": {"type": "integer"}},
                  "required": ["a", "b"]}
        for fields in ({"response_format": wrap(schema)}, {"guided_regex": "(ab|c){3,9}"},
                       {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False}):
            for thinking in (False, True):
                extra = {"enable_thinking": thinking, "temperature": 1, "seed": 9, "max_tokens": LIMIT}
                if thinking:
                    extra["max_thinking_tokens"] = 8
                body = self.server.chat("Go.", **fields, **extra)
                whole = self.server.post("/v1/chat/completions", body)["choices"][0]
                message, finish, _, _ = collect_chat(self.server.stream("/v1/chat/completions", {**body, "stream": True}))
                self.assertEqual(finish, whole["finish_reason"])
                self.assertEqual(message["content"], whole["message"]["content"] or "")
                self.assertEqual(message["reasoning_content"], whole["message"].get("reasoning_content") or "")
                self.assertEqual([c["function"] for c in message["tool_calls"]],
                                 [c["function"] for c in whole["message"].get("tool_calls") or []])

    def test_a_format_beside_tools_is_calls_or_the_json(self):
        schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
        calls = texts = 0
        for seed in range(16):
            # The bias makes both kinds likely: the model of these tests knows nothing of such tasks.
            bias = {str(self.call_id()): 100} if seed % 2 else {}
            choice = self.answer(enable_thinking=seed % 4 > 1, max_thinking_tokens=8 if seed % 4 > 1 else None,
                                 temperature=1, seed=seed, tools=TOOLS, response_format=wrap(schema), logit_bias=bias,
                                 parallel_tool_calls=False)
            message = choice["message"]
            if choice["finish_reason"] == "length":
                continue
            if message.get("tool_calls"):
                calls += 1
                self.assertEqual(choice["finish_reason"], "tool_calls")
                self.assertIsNone(message["content"])
            else:
                texts += 1
                self.assertTrue(self.check_schema(schema, choice))
        self.assertGreater(calls, 0)
        self.assertGreater(texts, 0)

    def call_id(self):
        return self.server.post("/tokenize", {"prompt": "<tool_call>"})["tokens"][0]

    def test_thinking_budget(self):
        for budget in (0, 1, 7):
            choice = self.answer(enable_thinking=True, max_thinking_tokens=budget, temperature=1, seed=2, max_tokens=30,
                                 logprobs=True, ignore_eos=True)
            tokens = [entry["token"] for entry in choice["logprobs"]["content"]]
            self.assertEqual(len(tokens), 30, "the answer goes on")
            self.assertIn("</think>", tokens[: budget + 1])

    def test_refusals_name_the_keyword(self):
        for fields, param, words in [
            ({"response_format": wrap({"type": "object", "properties": {"a": {"not": {}}}})},
             "response_format.json_schema.schema", "not at #/properties/a"),
            ({"response_format": {"type": "xml"}}, "response_format.type", "json_object"),
            ({"response_format": {"type": "json_schema"}}, "response_format.json_schema", "missing"),
            ({"response_format": {"type": "json_object"}, "guided_regex": "a"}, "guided_regex", "contradicts"),
            ({"response_format": {"type": "json_object"}, "tools": TOOLS, "tool_choice": "required"}, "response_format",
             "tool_choice"),
            ({"guided_regex": "a", "tools": TOOLS}, "guided_regex", "tool_choice"),
            ({"response_format": {"type": "json_object"}, "ignore_eos": True}, "ignore_eos", "false"),
            ({"guided_regex": "(?=a)"}, "guided_regex", "look-around"),
            ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "pong"}}}, "tool_choice", "pong"),
            ({"tool_choice": "required"}, "tool_choice", "tools"),
            ({"max_thinking_tokens": 5, "enable_thinking": False}, "max_thinking_tokens", "thinking"),
        ]:
            with self.subTest(fields=fields):
                status, _, body = self.server.request("POST", "/v1/chat/completions", self.server.chat("x", **fields))
                self.assertEqual(status, 400)
                self.assertEqual(body["error"]["param"], param)
                self.assertIn(words, body["error"]["message"])


if __name__ == "__main__":
    unittest.main()
