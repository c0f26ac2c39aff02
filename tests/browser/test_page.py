"""The built-in page in a real browser, against a running server.

Screenshots of every state go to HEARTH_SCREENSHOTS (default build/browser), at phone and desktop width, for people to
look at: a test cannot see what is ugly.
"""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))

from harness import ROOT, Server, panel, wait_for  # noqa: E402
from webdriver import Browser  # noqa: E402

SHOTS = os.environ.get("HEARTH_SCREENSHOTS", os.path.join(ROOT, "build", "browser"))
SIZES = {"phone": (390, 844), "desktop": (1280, 800)}

# Notes the length of the last answer at each change of the conversation, and every text that a figure shows.
RECORD = """
window.lengths = [];
window.shown = {};
new MutationObserver(() => {
  const turns = document.querySelectorAll(".turn.assistant");
  if (turns.length) window.lengths.push(turns[turns.length - 1].textContent.length);
}).observe(document.getElementById("log"), { childList: true, subtree: true, characterData: true });
for (const figure of document.querySelectorAll(".figure")) {
  const texts = window.shown[figure.querySelector("h2").textContent] = [];
  new MutationObserver(() => texts.push(figure.querySelector(".now").textContent))
    .observe(figure.querySelector(".now"), { childList: true, characterData: true, subtree: true });
}
"""
# Answers that go on to their limit: a tiny model may end a story with its first word.
ENDLESS = """
const real = window.fetch;
window.fetch = (path, options) => {
  if (options.body) options.body = JSON.stringify({ ...JSON.parse(options.body), ignore_eos: true });
  return real(path, options);
};
"""
SET = """
const field = document.querySelector(arguments[0]);
field.value = arguments[1];
field.dispatchEvent(new Event("input", { bubbles: true }));
"""


def weather_question(server):
    """-> a question and the tools that hearth-tiny was trained on."""
    text = server.post("/detokenize", {"tokens": panel()["weather-tool"]["tokens"]})["text"]
    question = text.split("<|user|>")[1].split("<|assistant|>")[0]
    lines = text.split("<tools>\n")[1].split("\n</tools>")[0].split("\n")
    return question, [{"type": "function", "function": json.loads(line)} for line in lines]


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.address = f"http://127.0.0.1:{cls.server.port}/"
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.server.stop()

    def setUp(self):
        self.browser.resize(*SIZES["desktop"])
        self.browser.open(self.address)
        self.browser.run(RECORD)
        wait_for(lambda: self.browser.run('return document.getElementById("state").className') == "good", 20, "ready")
        self.browser.run(SET, "#temperature", "0")

    def tearDown(self):
        """Whatever a test did: nothing was written to the console, nothing was asked for elsewhere."""
        self.assertEqual(self.browser.console(), [])
        asked = self.browser.requested()
        self.assertIn(self.address, asked)
        self.assertEqual([url for url in asked if not url.startswith((self.address, "data:,"))], [])

    def ask(self, text):
        self.browser.type("#prompt", text)
        self.browser.click("#send")

    def answered(self, count=1, seconds=60):
        """Waits for the end of the count-th answer -> its receipt."""
        def ended():
            receipts = self.browser.run('return [...document.querySelectorAll(".receipt")].map((r) => r.textContent)')
            return len(receipts) == count and "ended by" in receipts[-1] and receipts[-1]
        return wait_for(ended, seconds, f"answer {count} has ended")

    def shots(self, name):
        """Pictures at both widths; nothing may stick out to the side."""
        for size, (width, height) in SIZES.items():
            for dark in (False, True):
                self.browser.resize(width, height, mobile=size == "phone", dark=dark)
                self.browser.screenshot(os.path.join(SHOTS, f"{name}-{size}{'-dark' if dark else ''}.png"))
            wide = self.browser.run("return [document.documentElement.scrollWidth, innerWidth]")
            self.assertEqual(wide[0], width, size)
            self.assertEqual(wide[1], width, size)
        self.browser.resize(*SIZES["desktop"])

    def test_a_chat_streams_and_its_reasoning_is_folded(self):
        self.shots("empty")
        self.ask("Hello!")
        receipt = self.answered()
        self.assertRegex(receipt, r"^\d+ \+ \d+ tokens, first after [\d.]+ s, [\d.]+ tokens/s, ended by stop$")
        lengths = self.browser.run("return window.lengths")
        growing = [b for a, b in zip(lengths, lengths[1:]) if b > a]
        self.assertGreater(len(growing), 5, f"the answer grew step by step: {lengths}")
        want = self.server.post("/v1/chat/completions", self.server.chat("Hello!"))["choices"][0]["message"]
        # The page's own text, as the server gives it unstreamed.
        self.assertEqual(self.browser.run('return document.querySelector(".turn.assistant > .text").textContent'),
                         want["content"])
        folded = self.browser.run(
            'const d = document.querySelector(".turn.assistant details");'
            'return [d.open, d.hidden, d.querySelector(".text").textContent]')
        self.assertEqual(folded, [False, False, want["reasoning_content"]])
        title = f"Thinking, {len(want['reasoning_content'])} characters"
        self.assertEqual(self.browser.text(".turn.assistant details"), title, "only the title can be seen")
        self.browser.click(".turn.assistant summary")
        self.assertIn(want["reasoning_content"].strip()[:20], self.browser.text(".turn.assistant details"))
        self.shots("chat")
        # A second turn knows the first.
        self.ask("Thank you! 谢谢 🙂")
        self.answered(2)
        self.assertEqual(self.browser.text(".turn.user:nth-of-type(3)"), "Thank you! 谢谢 🙂")

    def test_a_tool_call_is_shown_and_its_result_goes_back(self):
        question, tools = weather_question(self.server)
        self.browser.click("#knobs summary")
        self.browser.run(SET, "#tools", json.dumps(tools))
        self.ask(question)
        self.assertIn("ended by tool_calls", self.answered())
        self.assertEqual(self.browser.text(".call strong"), "Calls get_weather")
        self.assertIn("city", json.loads(self.browser.text(".call pre")))
        self.shots("call")
        self.browser.type(".call input", '{"temperature": 21, "sky": "clear"}')
        self.browser.click(".turn.assistant button")
        self.assertNotIn("tool_calls", self.answered(2))
        self.assertTrue(self.browser.run('return document.querySelectorAll(".turn.assistant > .text")[1].textContent'))
        self.shots("result")

    def test_the_plots_move(self):
        self.browser.run('document.getElementById("thinking").checked = false')
        self.browser.run(ENDLESS)
        self.browser.run(SET, "#most", "900")
        for i in range(2):
            self.ask("Write a long story about a lighthouse.")
            self.assertIn("ended by length", self.answered(i + 1, 120))
        wait_for(lambda: max(map(len, self.browser.run("return Object.values(window.shown)"))) > 4, 20, "five samples")
        shown = self.browser.run("return window.shown")
        self.assertEqual(sorted(shown), ["Cache hits, last second", "Expert picks by lane", "Expert slots in use",
                                         "Requests", "Tokens per second"])

        def numbers(title):
            return [float(t.split()[0].replace("k", "e3").replace("M", "e6")) for t in shown[title] if t[0] != "–"]

        self.assertGreater(max(numbers("Tokens per second")), 0)
        self.assertGreater(max(numbers("Expert picks by lane")), 0)
        self.assertGreater(len(set(numbers("Tokens per second"))), 1, "the figure changes")
        self.assertTrue(all(0 <= share <= 100 for share in numbers("Cache hits, last second")))
        points = self.browser.run(
            'return [...document.querySelectorAll(".figure svg")].map((s) => s.querySelector("polyline, polygon")'
            '.getAttribute("points").split(" ").length)')
        self.assertEqual(len(points), 5)
        self.assertGreater(min(points), 3, "every plot has a line")
        heights = self.browser.run(
            'return [...new Set(document.querySelector(".figure polyline").getAttribute("points").split(" ")'
            '.map((p) => p.split(",")[1]))]')
        self.assertGreater(len(heights), 1, "which is not flat")
        self.shots("plots")

    def test_stopping_and_errors_are_told(self):
        self.browser.run(ENDLESS)
        self.ask("Write a very long story.")
        wait_for(lambda: len(self.browser.run("return window.lengths")) > 3, 20, "it streams")
        self.browser.click("#stop")
        wait_for(lambda: self.browser.text(".receipt") == "stopped", 10, "stopped")
        wait_for(lambda: self.server.stats()["requests_running"] == 0, 10, "the worker has stopped too")
        self.browser.click("#new-chat")
        self.browser.run(SET, "#prompt", "")  # a question without an answer has gone back there
        self.ask("Write another very long story.")
        wait_for(lambda: self.browser.run('return document.querySelector(".turn.assistant > .text").textContent.length '
                                          '+ document.querySelector(".turn.assistant details .text").textContent.length'),
                 20, "it streams")
        self.browser.click("#new-chat")
        wait_for(lambda: self.browser.run('return running === null'), 10, "the answer has ended")
        self.assertEqual(self.browser.run("return messages"), [], "nothing of it is left in the new chat")
        self.browser.click("#knobs summary")
        self.browser.run(SET, "#tools", "[nonsense")
        self.browser.run(SET, "#prompt", "")  # a question without an answer has gone back there
        self.ask("Hello!")
        wait_for(lambda: self.browser.text(".receipt .error").startswith("Tools: "), 10, "the mistake is named")
        self.shots("error")


class WithoutWorker(unittest.TestCase):
    def test_the_page_says_what_is_wrong(self):
        with Server(tier=False) as server:
            browser = Browser()
            try:
                browser.open(f"http://127.0.0.1:{server.port}/")
                def says(good, text):
                    shown = browser.run('const s = document.getElementById("state"); return [s.className, s.textContent]')
                    return shown[0] == good and text in shown[1]

                wait_for(lambda: says("good", "degraded"), 20, "ready, without the CPU tier")
                server.kill("worker")
                wait_for(lambda: says("bad", "worker_down"), 20, "the page tells that the worker is down")
                server.kill("gateway")
                wait_for(lambda: says("bad", "the server does not answer"), 20, "and that nobody answers")
            finally:
                browser.close()


if __name__ == "__main__":
    unittest.main()
