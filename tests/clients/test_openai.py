"""The official openai package: what it sends is understood and what it gets parses into its types."""

import asyncio
import json
import math
import threading
import unittest

import openai
from support import MODEL, ClientTest, idle, panel_text, sdk, user, wait_for, weather_question


def city_of(call):
    return json.loads(call.function.arguments)["city"]


class Chat(ClientTest):
    def test_models(self):
        models = self.client.models.list().data
        self.assertIn(MODEL, [m.id for m in models])
        self.assertEqual(self.client.models.retrieve(MODEL).id, MODEL)

    def test_chat_gives_the_panels_answer(self):
        reasoning, _, rest = panel_text("zero-copy").split("<|assistant|><think>")[1].partition("</think>")
        answer = self.chat("Explain zero-copy model offloading.")
        message = answer.choices[0].message
        self.assertEqual(message.content, rest.replace("<|user|>", "").strip())
        self.assertEqual(message.reasoning_content, reasoning)
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertEqual(answer.object, "chat.completion")
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)

    def test_streaming_gives_the_same_with_a_usage_chunk(self):
        whole = self.chat("Explain zero-copy model offloading.")
        content, reasoning, finish, usage, ids = "", "", [], [], set()
        for chunk in self.chat(
            "Explain zero-copy model offloading.", stream=True, stream_options={"include_usage": True}
        ):
            ids.add(chunk.id)
            if chunk.usage:
                usage.append(chunk.usage)
                self.assertEqual(chunk.choices, [])
                continue
            self.assertEqual(usage, [], "the usage chunk is the last one")
            delta = chunk.choices[0].delta
            content += delta.content or ""
            reasoning += getattr(delta, "reasoning_content", None) or ""
            if chunk.choices[0].finish_reason:
                finish.append(chunk.choices[0].finish_reason)
        self.assertEqual(content, whole.choices[0].message.content)
        self.assertEqual(reasoning, whole.choices[0].message.reasoning_content)
        self.assertEqual(finish, ["stop"])
        self.assertEqual(len(ids), 1)
        self.assertEqual([u.completion_tokens for u in usage], [whole.usage.completion_tokens])

    def test_the_stream_helper_collects_a_completion(self):
        with self.client.chat.completions.stream(model=MODEL, messages=user("Hello!"), temperature=0) as stream:
            for _ in stream:
                pass
            final = stream.get_final_completion()
        self.assertEqual(final.choices[0].message.content, self.chat("Hello!").choices[0].message.content)

    def test_content_parts_and_developer_messages(self):
        parts = [{"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo!"}]}]
        self.assertTrue(self.chat(parts).choices[0].message.content)
        with_system = self.chat([{"role": "system", "content": "Be brief."}, *user("Hello!")])
        with_developer = self.chat([{"role": "developer", "content": "Be brief."}, *user("Hello!")])
        self.assertEqual(with_system.usage.prompt_tokens, with_developer.usage.prompt_tokens)
        self.assertEqual(with_system.choices[0].message.content, with_developer.choices[0].message.content)

    def test_n_gives_choices_of_their_own_seeds(self):
        fields = {"temperature": 1.2, "seed": 11, "max_tokens": 24}
        several = self.chat("Write a long essay on rivers.", n=3, **fields).choices
        self.assertEqual([c.index for c in several], [0, 1, 2])
        texts = [c.message.reasoning_content or c.message.content for c in several]
        self.assertGreater(len(set(texts)), 1)
        second = self.chat("Write a long essay on rivers.", **{**fields, "seed": 12}).choices[0].message
        self.assertEqual(second.reasoning_content or second.content, texts[1])

    def test_n_streams_every_choice(self):
        fields = {"temperature": 1.2, "seed": 11, "max_tokens": 12, "n": 3}
        whole = [
            c.message.reasoning_content or c.message.content for c in self.chat("Tell me of rivers.", **fields).choices
        ]
        parts, finishes = [""] * 3, [None] * 3
        for chunk in self.chat("Tell me of rivers.", stream=True, **fields):
            for choice in chunk.choices:
                parts[choice.index] += getattr(choice.delta, "reasoning_content", None) or choice.delta.content or ""
                finishes[choice.index] = choice.finish_reason or finishes[choice.index]
        self.assertEqual(parts, whole)
        self.assertNotIn(None, finishes)

    def test_stop_strings_end_the_content(self):
        full = self.chat("Explain zero-copy model offloading.").choices[0].message.content
        stop = full.split()[5]
        cut = self.chat("Explain zero-copy model offloading.", stop=[stop, "never to be seen"]).choices[0]
        self.assertEqual(cut.message.content, full[: full.index(stop)].strip())
        self.assertEqual(cut.finish_reason, "stop")

    def test_length_is_a_finish_reason(self):
        answer = self.chat("Write a long essay on the sea.", max_completion_tokens=7)
        self.assertEqual(answer.choices[0].finish_reason, "length")
        self.assertEqual(answer.usage.completion_tokens, 7)

    def test_logprobs(self):
        answer = self.chat("Hello!", logprobs=True, top_logprobs=4, reasoning_effort="none")
        entries = answer.choices[0].logprobs.content
        self.assertGreaterEqual(len(entries), answer.usage.completion_tokens - 1)
        text = b"".join(bytes(e.bytes) for e in entries if not e.token.startswith("<|")).decode()
        self.assertEqual(text.strip(), answer.choices[0].message.content)
        for entry in entries:
            self.assertLessEqual(entry.logprob, 0)
            self.assertEqual(len(entry.top_logprobs), 4)
            self.assertEqual(entry.top_logprobs[0].token, entry.token, "greedy takes the most likely token")
            self.assertLessEqual(sum(math.exp(t.logprob) for t in entry.top_logprobs), 1.0001)
            falling = [t.logprob for t in entry.top_logprobs]
            self.assertEqual(falling, sorted(falling, reverse=True))

    def test_logit_bias_bans_a_token(self):
        first = self.chat("Hello!", logprobs=True, max_tokens=1, reasoning_effort="none").choices[0].logprobs.content[0]
        token = self.server.post("/tokenize", {"prompt": first.token})["tokens"][0]
        banned = self.chat(
            "Hello!", logprobs=True, max_tokens=1, reasoning_effort="none", logit_bias={str(token): -100}
        )
        self.assertNotEqual(banned.choices[0].logprobs.content[0].token, first.token)

    def test_raw_responses_carry_a_request_id(self):
        raw = self.client.chat.completions.with_raw_response.create(
            model=MODEL, messages=user("Hello!"), max_tokens=1, extra_headers={"x-request-id": "of-the-caller"}
        )
        self.assertEqual(raw.headers["x-request-id"], "of-the-caller")
        self.assertTrue(self.chat("Hello!", max_tokens=1)._request_id)


class Tools(ClientTest):
    def loop(self, name, cities):
        """Calls until the model answers with text; -> the calls of the first round and the final text."""
        question, tools = weather_question(name)
        messages, rounds = user(question), []
        for _ in range(3):
            choice = self.chat(messages, tools=tools, parallel_tool_calls=True).choices[0]
            if not choice.message.tool_calls:
                self.assertEqual(choice.finish_reason, "stop")
                return rounds[0], choice.message.content
            self.assertEqual(choice.finish_reason, "tool_calls")
            rounds.append(choice.message.tool_calls)
            # As the package's own examples do it: the message object goes back as it came.
            messages.append(choice.message)
            for call in choice.message.tool_calls:
                self.assertEqual(call.type, "function")
                self.assertIn(city_of(call), cities)
                messages.append(
                    {
                        "role": "tool",
                        "tool_call_id": call.id,
                        "content": json.dumps({"city": city_of(call), "weather": "sunny", "temperature": 21}),
                    }
                )
        self.fail("no final answer after three rounds")

    def test_a_tool_loop_ends_with_text(self):
        calls, text = self.loop("weather-tool", ["Paris"])
        self.assertEqual([city_of(c) for c in calls], ["Paris"])
        self.assertEqual([c.function.name for c in calls], ["get_weather"])
        self.assertIn("Paris", text)

    def test_two_cities_give_parallel_calls(self):
        calls, text = self.loop("weather-two", ["Paris", "Tokyo"])
        self.assertEqual([city_of(c) for c in calls], ["Paris", "Tokyo"])
        self.assertNotEqual(calls[0].id, calls[1].id)
        self.assertTrue(text)

    def test_streamed_calls_add_up(self):
        question, tools = weather_question("weather-two")
        calls, finish = {}, None
        for chunk in self.chat(question, tools=tools, stream=True):
            choice = chunk.choices[0]
            finish = choice.finish_reason or finish
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(part.index, {"id": part.id, "name": part.function.name, "arguments": ""})
                call["arguments"] += part.function.arguments or ""
        self.assertEqual(finish, "tool_calls")
        self.assertEqual([json.loads(calls[i]["arguments"])["city"] for i in sorted(calls)], ["Paris", "Tokyo"])
        self.assertTrue(all(c["id"] and c["name"] == "get_weather" for c in calls.values()))

    def test_tool_choice_none_calls_nothing(self):
        question, tools = weather_question("weather-tool")
        message = self.chat(question, tools=tools, tool_choice="none", max_tokens=60).choices[0].message
        self.assertFalse(message.tool_calls)


class Completions(ClientTest):
    def complete(self, prompt, **fields):
        return self.client.completions.create(
            **{"model": MODEL, "prompt": prompt, "temperature": 0, "max_tokens": 6, **fields}
        )

    def test_prompts_in_all_shapes(self):
        text = "The morning was cold and"
        ids = self.server.post("/tokenize", {"prompt": text})["tokens"]
        want = self.complete(text).choices[0].text
        self.assertEqual(self.complete(ids).choices[0].text, want)
        self.assertEqual([c.text for c in self.complete([text, text]).choices], [want, want])
        self.assertEqual([c.text for c in self.complete([ids, ids]).choices], [want, want])
        self.assertEqual("".join(c.choices[0].text for c in self.complete(text, stream=True)), want)

    def test_echo_with_logprobs_scores_the_prompt(self):
        text = "The morning was cold and"
        ids = self.server.post("/tokenize", {"prompt": text})["tokens"]
        choice = self.complete(text, echo=True, logprobs=2).choices[0]
        self.assertTrue(choice.text.startswith(text))
        logprobs = choice.logprobs
        self.assertEqual(len(logprobs.tokens), len(ids) + 6)
        self.assertIsNone(logprobs.token_logprobs[0])
        self.assertTrue(all(value <= 0 for value in logprobs.token_logprobs[1:]))
        self.assertEqual("".join(logprobs.tokens), choice.text)
        for offset, token in zip(logprobs.text_offset, logprobs.tokens):
            self.assertEqual(choice.text[offset : offset + len(token)], token)
        only_scored = self.complete(text, echo=True, logprobs=0, max_tokens=0).choices[0]
        self.assertEqual(only_scored.text, text)
        for one, other in zip(only_scored.logprobs.token_logprobs[1:], logprobs.token_logprobs[1:]):
            self.assertAlmostEqual(one, other, places=3)


class Cancelling(ClientTest):
    def test_closing_a_stream_frees_the_worker_within_a_second(self):
        stream = self.chat(
            "Write a long essay on the sea.", stream=True, max_tokens=4000, extra_body={"ignore_eos": True}
        )
        for _ in zip(range(5), stream):
            pass
        wait_for(lambda: self.server.stats()["requests_running"] == 1, 5, "the stream runs")
        stream.close()
        wait_for(lambda: idle(self.server.stats()), 1, "the generation has ended")

    def test_an_unstreamed_request_ends_with_its_client(self):
        client = sdk(self.server)
        failed = []

        def ask():
            try:
                client.chat.completions.create(
                    model=MODEL,
                    messages=user("Write."),
                    max_tokens=4000,
                    timeout=1,
                    extra_body={"ignore_eos": True},
                    temperature=0,
                )
            except openai.APITimeoutError as error:
                failed.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        wait_for(lambda: self.server.stats()["requests_running"] == 1 or failed, 5, "the request runs")
        thread.join()
        client.close()
        if not failed:
            self.skipTest("4,000 tokens took less than a second")
        wait_for(lambda: idle(self.server.stats()), 1, "the generation has ended")


class Async(ClientTest):
    def test_sixteen_chats_at_once(self):
        prompts = [f"Write about number {i}." for i in range(16)]

        async def run():
            async with sdk(self.server, openai.AsyncOpenAI) as client:

                async def one(text):
                    stream = await client.chat.completions.create(
                        model=MODEL, messages=user(text), temperature=0, max_tokens=16, stream=True
                    )
                    text = ""
                    async for chunk in stream:
                        delta = chunk.choices[0].delta
                        text += (getattr(delta, "reasoning_content", None) or "") + (delta.content or "")
                    return text

                return await asyncio.gather(*[one(p) for p in prompts])

        texts = asyncio.run(run())
        self.assertEqual(len(texts), 16)
        self.assertTrue(all(texts))
        alone = self.chat(prompts[3], max_tokens=16).choices[0].message
        self.assertTrue(alone.reasoning_content or alone.content)
        wait_for(lambda: idle(self.server.stats()), 2, "everything has ended")

    def test_a_cancelled_task_ends_its_generation(self):
        async def run():
            async with sdk(self.server, openai.AsyncOpenAI) as client:
                stream = await client.chat.completions.create(
                    model=MODEL,
                    messages=user("Write a long essay."),
                    stream=True,
                    max_tokens=4000,
                    extra_body={"ignore_eos": True},
                )

                async def read():
                    async for _ in stream:
                        pass

                task = asyncio.create_task(read())
                await asyncio.sleep(0.3)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await stream.close()

        asyncio.run(run())
        wait_for(lambda: idle(self.server.stats()), 1, "the generation has ended")


if __name__ == "__main__":
    unittest.main()
