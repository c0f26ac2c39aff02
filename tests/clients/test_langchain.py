"""langchain-openai over the server: messages, streams, bound tools as an agent loop, batches."""

import json
import unittest

try:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI, OpenAI
except ImportError as error:
    raise unittest.SkipTest(f"langchain-openai is not installed: {error}")

from support import MODEL, SLOW, ClientTest, idle, wait_for, weather_question


class LangChain(ClientTest):
    def model(self, kind=ChatOpenAI, **fields):
        return kind(
            **{
                "model": MODEL,
                "base_url": f"http://127.0.0.1:{self.server.port}/v1",
                "api_key": "unused",
                "temperature": 0,
                "max_retries": 0,
                "timeout": 60 * SLOW,
                **fields,
            }
        )

    def test_invoke(self):
        answer = self.model().invoke([SystemMessage("Be brief."), HumanMessage("Hello!")])
        self.assertIsInstance(answer, AIMessage)
        self.assertTrue(answer.content)
        self.assertEqual(answer.response_metadata["finish_reason"], "stop")
        self.assertGreater(answer.usage_metadata["output_tokens"], 0)

    def test_stream_equals_invoke(self):
        question = "Explain zero-copy model offloading."
        whole = self.model().invoke(question)
        total = None
        for chunk in self.model(stream_usage=True).stream(question):
            total = chunk if total is None else total + chunk
        self.assertEqual(total.content, whole.content)
        self.assertEqual(total.usage_metadata["output_tokens"], whole.usage_metadata["output_tokens"])

    def test_batch(self):
        alone = self.model(max_tokens=12).invoke("Hello!").content
        answers = self.model(max_tokens=12).batch(["Hello!"] * 4)
        self.assertEqual([a.content for a in answers], [alone] * 4)

    def agent(self, item):
        question, tools = weather_question(item)
        asked = []

        @tool(description=tools[0]["function"]["description"])
        def get_weather(city: str) -> str:
            asked.append(city)
            return json.dumps({"city": city, "weather": "sunny", "temperature": 21})

        model = self.model().bind_tools(tools)
        messages = [HumanMessage(question)]
        for _ in range(3):
            answer = model.invoke(messages)
            messages.append(answer)
            if not answer.tool_calls:
                return asked, answer.content
            messages += [ToolMessage(get_weather.invoke(c["args"]), tool_call_id=c["id"]) for c in answer.tool_calls]
        self.fail("no final answer")

    def test_a_tool_loop(self):
        asked, text = self.agent("weather-tool")
        self.assertEqual(asked, ["Paris"])
        # The package drops the reasoning of earlier turns; on such prompts hearth-tiny's sentence need not make sense.
        self.assertTrue(text)

    def test_parallel_tools(self):
        asked, text = self.agent("weather-two")
        self.assertEqual(asked, ["Paris", "Tokyo"])
        self.assertTrue(text)

    def test_streamed_tool_calls_merge(self):
        question, tools = weather_question("weather-two")
        total = None
        for chunk in self.model().bind_tools(tools).stream(question):
            total = chunk if total is None else total + chunk
        self.assertEqual([c["args"] for c in total.tool_calls], [{"city": "Paris"}, {"city": "Tokyo"}])

    def test_logprobs(self):
        answer = self.model(logprobs=True, top_logprobs=2, max_tokens=4).invoke("Hello!")
        self.assertEqual(len(answer.response_metadata["logprobs"]["content"]), 4)

    def test_completions(self):
        text = self.model(OpenAI, max_tokens=5).invoke("The morning was cold and")
        want = self.client.completions.create(
            model=MODEL, prompt="The morning was cold and", temperature=0, max_tokens=5
        )
        self.assertEqual(text, want.choices[0].text)

    def test_leaving_a_stream_cancels_it(self):
        stream = self.model(max_tokens=4000, extra_body={"ignore_eos": True}).stream("Write a long essay on the sea.")
        for _ in zip(range(3), stream):
            pass
        self.assertEqual(self.server.stats()["requests_running"], 1)
        stream.close()
        wait_for(lambda: idle(self.server.stats()), 1, "the generation has ended")


if __name__ == "__main__":
    unittest.main()
