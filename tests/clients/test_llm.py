"""The llm tool, set up by extra-openai-models.yaml as its documentation says: command line and Python interface."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import MODEL, SLOW, ClientTest, panel_text, weather_question

try:
    import llm
except ImportError as error:
    raise unittest.SkipTest(f"llm is not installed: {error}")


class Llm(ClientTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp(prefix="hearth-test.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        with open(f"{cls.folder}/extra-openai-models.yaml", "w") as f:
            f.write(
                f"- model_id: tiny\n  model_name: {MODEL}\n  api_base: http://127.0.0.1:{cls.server.port}/v1\n"
                "  supports_tools: true\n  supports_schema: true\n"
            )
        os.environ["LLM_USER_PATH"] = cls.folder
        cls.addClassCleanup(os.environ.pop, "LLM_USER_PATH", None)

    def run_llm(self, *arguments):
        done = subprocess.run(
            [sys.executable, "-m", "llm", *arguments], capture_output=True, text=True, timeout=60 * SLOW
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_command_line_answers(self):
        want = panel_text("hello").rpartition("</think>")[2].replace("<|user|>", "").strip()
        streamed = self.run_llm("-m", "tiny", "-o", "temperature", "0", "Hello!")
        self.assertIn(want, streamed)
        whole = self.run_llm("-m", "tiny", "--no-stream", "-o", "temperature", "0", "Hello!")
        self.assertIn(want, whole)

    def test_a_conversation_remembers(self):
        conversation = llm.get_model("tiny").conversation()
        first = conversation.prompt("Hello!", temperature=0).text()
        second = conversation.prompt("Hello!", temperature=0)
        self.assertTrue(first)
        self.assertTrue(second.text())
        self.assertGreater(second.usage().input, 20, "the first turn is in the prompt")

    def chain(self, item):
        question, tools = weather_question(item)
        asked = []

        def get_weather(city: str) -> str:
            asked.append(city)
            return '{"weather": "sunny", "temperature": 21}'

        described = llm.Tool(
            name="get_weather",
            description=tools[0]["function"]["description"],
            input_schema=tools[0]["function"]["parameters"],
            implementation=get_weather,
        )
        conversation = llm.get_model("tiny").conversation(tools=[described], chain_limit=4)
        text = conversation.chain(question, options={"temperature": 0}).text()
        return asked, text

    def test_a_tool_chain(self):
        asked, text = self.chain("weather-tool")
        self.assertEqual(asked, ["Paris"])
        self.assertTrue(text)

    def test_parallel_tools(self):
        asked, text = self.chain("weather-two")
        self.assertEqual(sorted(asked), ["Paris", "Tokyo"])
        self.assertTrue(text)

    def test_errors_are_told(self):
        done = subprocess.run(
            [sys.executable, "-m", "llm", "-m", "tiny", "-o", "max_tokens", "100000000000", "Hello!"],
            capture_output=True,
            text=True,
            timeout=60 * SLOW,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("max_tokens", done.stderr)


if __name__ == "__main__":
    unittest.main()
