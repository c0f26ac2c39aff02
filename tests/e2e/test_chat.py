"""Chat and completions over HTTP: streamed equals unstreamed, tokens arrive as they are made, tools work as a loop."""

import json
import time
import unittest

from harness import ServerTest, collect_chat, panel

class Chat(ServerTest):
    def panel_text(self, name):
        """Prompt and completion of a panel item as text, special tokens shown."""
        return self.server.post("/detokenize", {"tokens": panel()[name]["tokens"]})["text"]

    def unstreamed(self, body):
        choice = self.server.post("/v1/chat/completions", body)["choices"][0]
        return choice["message"], choice["finish_reason"]

    def streamed(self, body):
        return collect_chat(self.server.stream("/v1/chat/completions", {**body, "stream": True}))

    def assert_same(self, body):
        whole, finish = self.unstreamed(body)
        parts, stream_finish, _, _ = self.streamed(body)
        self.assertEqual(parts["reasoning_content"], whole.get("reasoning_content") or "")
        self.assertEqual(parts["content"], whole.get("content") or "")
        calls = [(c["function"]["name"], c["function"]["arguments"]) for c in whole.get("tool_calls") or []]
        self.assertEqual([(c["function"]["name"], c["function"]["arguments"]) for c in parts["tool_calls"]], calls)
        self.assertEqual(stream_finish, finish)
        return whole, finish

    def test_a_question_of_the_panel_gives_its_text(self):
        reasoning, _, rest = self.panel_text("zero-copy").split("<|assistant|><think>")[1].partition("</think>")
        whole, finish = self.assert_same(self.server.chat("Explain zero-copy model offloading."))
        self.assertEqual(whole["reasoning_content"], reasoning)
        self.assertEqual(whole["content"], rest.replace("<|user|>", "").strip())
        self.assertEqual(finish, "stop")

    def test_thinking_can_be_switched_off(self):
        for field in ({"chat_template_kwargs": {"enable_thinking": False}}, {"reasoning_effort": "none"}):
            whole, _ = self.assert_same(self.server.chat("Hello!", **field))
            self.assertFalse(whole.get("reasoning_content"))
            self.assertTrue(whole["content"])

    def test_tokens_arrive_as_they_are_made(self):
        body = self.server.chat("Write a long essay on the sea.", max_tokens=150)
        _, finish, _, times = self.streamed(body)
        self.assertEqual(finish, "length")
        self.assertGreater(len(times), 75)
        # A burst at the end would put the first piece next to the last one.
        self.assertLess(times[0], times[-1] / 2)
        gaps = sorted(b - a for a, b in zip(times, times[1:]))
        self.assertLess(gaps[-1], (times[-1] - times[0]) / 2)

    def test_usage_comes_when_asked_for(self):
        body = self.server.chat("Hello!")
        self.assertIsNone(self.streamed(body)[2])
        usage = self.streamed({**body, "stream_options": {"include_usage": True}})[2]
        whole = self.server.post("/v1/chat/completions", body)["usage"]
        for field in ("prompt_tokens", "completion_tokens", "total_tokens"):
            self.assertEqual(usage[field], whole[field])
        self.assertEqual(whole["total_tokens"], whole["prompt_tokens"] + whole["completion_tokens"])

    def test_weather_items_work_as_a_tool_loop(self):
        """The prompts of the three weather items, rendered from their own text, and the loop to the final sentence."""
        for name, calls_wanted in (("weather-tool", 1), ("weather-two", 2)):
            item, text = panel()[name], self.panel_text(name)
            question = text.split("<|user|>")[1].split("<|assistant|>")[0]
            tools = self.tools_of(text)
            body = self.server.chat(question, tools=tools)
            rendered = self.server.post("/apply-template", body)
            self.assertEqual(rendered["tokens"], item["prompt_len"])
            whole, finish = self.assert_same(body)
            self.assertEqual(finish, "tool_calls")
            self.assertEqual(len(whole["tool_calls"]), calls_wanted)
            completion = text.split("<|assistant|><think>")[1]
            for call in whole["tool_calls"]:
                self.assertEqual(call["function"]["name"], "get_weather")
                city = json.loads(call["function"]["arguments"])["city"]
                self.assertIn(f"<arg_value>{city}</arg_value>", completion)
            messages = body["messages"] + [{"role": "assistant", **whole}]
            for call in whole["tool_calls"]:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": '{"temperature": 18}'})
            answer, finish = self.assert_same({**body, "messages": messages})
            self.assertEqual(finish, "stop")
            self.assertTrue(answer["content"])

    def test_the_result_item_of_the_panel_gives_its_sentence(self):
        text = self.panel_text("weather-result")
        prompt, _, completion = text.rpartition("<|assistant|><think>")
        user = prompt.split("<|user|>")[1].split("<|assistant|>")[0]
        turn = prompt.split("<|assistant|><think>")[1]
        reasoning, _, rest = turn.partition("</think>")
        city = rest.split("<arg_value>")[1].split("</arg_value>")[0]
        result = rest.split("<tool_response>")[1].split("</tool_response>")[0]
        messages = [
            {"role": "user", "content": user},
            {"role": "assistant", "content": None, "reasoning_content": reasoning,
             "tool_calls": [{"id": "call_1", "type": "function",
                             "function": {"name": "get_weather", "arguments": json.dumps({"city": city})}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": result},
        ]
        body = self.server.chat(messages, tools=self.tools_of(text))
        self.assertEqual(self.server.post("/apply-template", body)["tokens"], panel()["weather-result"]["prompt_len"])
        answer, _ = self.assert_same(body)
        self.assertEqual(answer["content"], completion.partition("</think>")[2].replace("<|user|>", "").strip())

    @staticmethod
    def tools_of(text):
        lines = text.split("<tools>\n")[1].split("\n</tools>")[0].split("\n")
        return [{"type": "function", "function": json.loads(line)} for line in lines]

    def test_completions_echo_a_prompt_and_continue_it(self):
        prompt = "The morning was cold and"
        body = {"model": "hearth-tiny", "prompt": prompt, "max_tokens": 8, "temperature": 0}
        plain = self.server.post("/v1/completions", body)["choices"][0]
        echoed = self.server.post("/v1/completions", {**body, "echo": True})["choices"][0]
        self.assertEqual(echoed["text"], prompt + plain["text"])
        text = "".join(c["text"] for _, e in self.server.stream("/v1/completions", {**body, "stream": True})
                       if e != "[DONE]" for c in e["choices"])
        self.assertEqual(text, plain["text"])

    def test_a_seed_makes_sampling_repeatable(self):
        body = self.server.chat("Write a long essay on rivers.", temperature=1.0, seed=7, max_tokens=40)
        self.assertEqual(self.unstreamed(body)[0]["reasoning_content"], self.unstreamed(body)[0]["reasoning_content"])

    def test_generate_streams_cumulative_text(self):
        item = panel()["hello"]
        body = {"input_ids": item["tokens"][: item["prompt_len"]], "stream": True,
                "sampling_params": {"temperature": 0, "max_new_tokens": 64}}
        texts = [e["text"] for _, e in self.server.stream("/generate", body) if e != "[DONE]"]
        self.assertGreater(len(texts), 3)
        for earlier, later in zip(texts, texts[1:]):
            self.assertTrue(later.startswith(earlier))

    def test_tokenize_and_detokenize_are_inverse(self):
        for text in ("Hello, world!", "naïve 你好 🙂\n\t x", "<|user|><think>"):
            tokens = self.server.post("/tokenize", {"prompt": text})["tokens"]
            self.assertEqual(self.server.post("/detokenize", {"tokens": tokens})["text"], text)

    def test_idle_processes_use_no_cpu(self):
        def used():
            total = 0
            for process in self.server.processes.values():
                with open(f"/proc/{process.pid}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                total += int(fields[11]) + int(fields[12])
            return total / 100.0

        time.sleep(1)
        before = used()
        time.sleep(10)
        self.assertLess(used() - before, 0.2, "seconds of CPU in ten idle seconds")


if __name__ == "__main__":
    unittest.main()
