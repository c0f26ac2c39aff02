#!/usr/bin/env python3
"""Compares `hearth-text render` with the chat template itself on random conversations, character by character.

usage: template_parity.py HEARTH_TEXT [--template FILE] [--seed N] [--count N]

Needs the package `Jinja2` (tried with 3.1.6); everything else is the standard library. Conversations on which the template
itself fails are not compared. Exits with 1 at any difference.
"""
import argparse
import copy
import json
import os
import random
import subprocess
import sys

import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = os.path.dirname(os.path.abspath(__file__))
TEXTS = ["", "a", " a ", "\n", "hello", "<think>", "</think>", "x<think>y</think>z", " <think>r</think> c ",
         "a</think>b<think>c</think>d", "\u3000c\u200b", "\x1cq\x85", '"\\\n', "é<|user|>"]
IDS = ["1", "2", "3", "call_a", None, "", 7, 0, "7"]
INTEGERS = [0, 1, -5, 10**25, 2**63, 2**64, -2**63 - 1]
FLOATS = [0.1, 1.0, -0.0, 1e16, 1.5e16, 1e-5, 1e-4, 123456.789, 1e22, 5e-324, 1e15, 9.999e15]
MEDIA = ["image", "image_url", "video", "video_url", "audio", "audio_url", "input_audio", "file"]


class Maker:
    """Random requests, valid and odd ones."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pick = self.random.choice

    def chance(self, share):
        return self.random.random() < share

    def some(self, make, low, high):
        return [make() for _ in range(self.random.randrange(low, high))]

    def value(self, depth=0):
        kind = self.random.randrange(9 if depth < 3 else 6)
        if kind == 1:
            return self.pick(INTEGERS)
        if kind == 2:
            return self.pick(FLOATS)
        if kind == 3:
            return self.pick([True, False, None])
        if kind in (6, 7):
            keys = ["a", "b", "c", "type", "strict", 'é"', "properties"]
            return {self.pick(keys): self.value(depth + 1) for _ in range(self.random.randrange(4))}
        if kind == 8:
            return self.some(lambda: self.value(depth + 1), 0, 4)
        return self.pick(TEXTS)

    def tool(self):
        function = {}
        keys = ["name", "description", "parameters", "strict", "defer_loading", 'x"y']
        self.random.shuffle(keys)
        for key in keys:
            if key == "name":
                function["name"] = self.pick(["f", "g", "h"])
            elif self.chance(0.6):
                defer = key == "defer_loading"
                function[key] = self.pick([True, False, None, 0, 1, "", "x", []]) if defer else self.value()
        return {"type": "function", "function": function} if self.chance(0.7) else function

    def part(self):
        kind = self.random.randrange(9)
        if kind < 4:
            return {"type": "text", "text": self.pick(TEXTS)} if self.chance(0.9) else {"type": "text"}
        if kind == 4:
            return self.pick(TEXTS)
        if kind == 5:
            return {"type": self.pick(MEDIA)}
        return self.pick([{"text": "q"}, 5, None, True, [], 1.5, {"type": 5}, {"type": None}, {"type": "Text"}])

    def content(self, of_tool=False):
        kind = self.random.randrange(8)
        if kind < 4:
            return self.pick(TEXTS)
        if kind == 4:
            return None
        if kind == 5 and not of_tool:
            return self.pick([5, 0, 1.5, True, False, 10**30])
        return self.some(self.part, 0, 4)

    def references(self):
        return self.some(lambda: {"type": "tool_reference", "name": self.pick(["f", "g", "zz"])}, 1, 3)

    def call(self):
        arguments = {self.pick(["a", "b", "k<"]): self.value() for _ in range(self.random.randrange(4))}
        function = {"name": self.pick(["f", "g", "h", 5]), "arguments": arguments}
        if self.chance(0.1):
            del function["name"]
        call = {"function": function} if self.chance(0.7) else dict(function)
        for key, share in (("id", 0.8), ("tool_call_id", 0.1)):
            if self.chance(share):
                call[key] = self.pick(IDS)
        return call

    def output(self, is_first):
        entry = {}
        if is_first or self.chance(0.9):
            entry["output"] = self.references() if self.chance(0.3) else self.content(of_tool=True)
        if self.chance(0.8):
            entry["tool_call_id"] = self.pick(IDS)
        return entry

    def tool_message(self):
        message = {"role": "tool"}
        kind = self.random.randrange(6)
        if kind == 0:
            message["content"] = self.references()
        elif kind == 1:
            message["content"] = [self.output(i == 0) for i in range(self.random.randrange(1, 4))]
        elif kind < 5:
            message["content"] = self.content(of_tool=True)
        if self.chance(0.85):
            message[self.pick(["tool_call_id", "tool_call_id", "id"])] = self.pick(IDS)
        return message

    def message(self):
        role = self.pick(["user", "assistant", "assistant", "tool", "tool", "system", "developer", "function", None])
        if role == "tool":
            return self.tool_message()
        message = {"role": role}
        if self.chance(0.95):
            message["content"] = self.content()
        if role == "assistant":
            if self.chance(0.5):
                message["reasoning_content"] = self.pick(TEXTS + [None, 5])
            if self.chance(0.6):
                message["tool_calls"] = self.some(self.call, 0, 4)
        return message

    def orderly_run(self):
        """Calls with distinct ids and results in another order."""
        ids = self.random.sample(["1", "2", "3", "4"], self.random.randrange(1, 4))
        calls = [{"id": i, "function": {"name": "f", "arguments": {}}} for i in ids]
        answered = self.random.sample(ids, self.random.randrange(1, len(ids) + 1))
        results = [{"role": "tool", "tool_call_id": i, "content": self.pick([i, self.references(), [self.part()]])}
                   for i in answered]
        return [{"role": "assistant", "content": self.pick(TEXTS), "tool_calls": calls}, *results]

    def request(self):
        messages = []
        for _ in range(self.random.randrange(6)):
            messages += self.orderly_run() if self.chance(0.25) else [self.message()]
        kwargs = {}
        if self.chance(0.4):
            kwargs["reasoning_effort"] = self.pick(["low", "high", "max", "Low", None, 5])
        if self.chance(0.5):
            kwargs["clear_thinking"] = self.pick([True, False, None, 1, 0, "", "x"])
        tools = self.pick([None, []]) if self.chance(0.3) else self.some(self.tool, 1, 4)
        return {"messages": messages, "tools": tools, "kwargs": kwargs, "add_generation_prompt": self.chance(0.5)}


def load_template(path):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                extensions=[jinja2.ext.loopcontrols])
    environment.filters["tojson"] = lambda value, ensure_ascii=False: json.dumps(value, ensure_ascii=ensure_ascii)
    with open(path, encoding="utf-8") as file:
        return environment.from_string(file.read())


def expected(template, request):
    variables = copy.deepcopy({k: v for k, v in request.items() if k != "kwargs"})
    try:
        return template.render(**variables, **request["kwargs"])
    except (jinja2.TemplateError, TypeError):
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--template", default=os.path.join(HERE, "../../golden/chat_template.jinja"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3000)
    options = parser.parse_args()
    template = load_template(options.template)
    maker = Maker(options.seed)
    requests = [maker.request() for _ in range(options.count)]
    wanted = [expected(template, request) for request in requests]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([options.binary, "--model", ".", "render"], input=lines.encode(), stdout=subprocess.PIPE,
                          check=True, timeout=600)
    answers = [json.loads(line) for line in done.stdout.decode().split("\n") if line]
    if len(answers) != len(requests):
        raise SystemExit(f"{len(requests)} lines in, {len(answers)} out")
    compared = differences = 0
    for request, want, answer in zip(requests, wanted, answers):
        if want is None:
            continue
        compared += 1
        if answer.get("prompt") != want:
            differences += 1
            if differences <= 5:
                print(f"{json.dumps(request, ensure_ascii=False)}\n wanted {want!r}\n got {answer!r}")
    print(f"{compared} conversations compared, {differences} differences")
    return 1 if differences or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
