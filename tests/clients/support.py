"""What the client tests share: one server for all of them, the weather tool, a ready OpenAI client.

Needs the packages of tests/requirements-clients.txt. Run from this folder:
    HEARTH_BIN=... python -m unittest discover -s tests/clients -t tests/clients
"""

import atexit
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))

from harness import BIN, ROOT, SLOW, Server, free_port, panel, wait_for  # noqa: E402, F401  (for the tests)

try:
    import openai
except ImportError as error:
    raise unittest.SkipTest(f"the client packages are not installed: {error}")

MODEL = "hearth-tiny"
FAKE_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_worker.py")
_shared = None

WEATHER_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "City name"}},
            "required": ["city"],
        },
    },
}


def shared_server():
    """Started by the first test that asks, stopped at exit."""
    global _shared
    if _shared is None:
        _shared = Server()
        atexit.register(_shared.stop)
    return _shared


def panel_text(name):
    return shared_server().post("/detokenize", {"tokens": panel()[name]["tokens"]})["text"]


def weather_question(name):
    """-> the user's text and the tools of a weather item, as hearth-tiny was trained on them."""
    text = panel_text(name)
    question = text.split("<|user|>")[1].split("<|assistant|>")[0]
    lines = text.split("<tools>\n")[1].split("\n</tools>")[0].split("\n")
    return question, [{"type": "function", "function": json.loads(line)} for line in lines]


def sdk(server, kind=openai.OpenAI, **options):
    return kind(
        **{
            "base_url": f"http://127.0.0.1:{server.port}/v1",
            "api_key": "unused",
            "max_retries": 0,
            "timeout": 60 * SLOW,
            **options,
        }
    )


def state_of(port):
    """The state that /health tells; None while the gateway does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
            return json.load(response)["state"]
    except urllib.error.HTTPError as error:
        return json.load(error)["state"]
    except OSError:
        return None


def user(text):
    return [{"role": "user", "content": text}]


@contextlib.contextmanager
def temporary_folder():
    path = tempfile.mkdtemp(prefix="hearth-test.")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def wait_idle(server, seconds):
    """How long it takes until the worker runs and queues nothing; fails after `seconds`."""
    begin = time.monotonic()
    wait_for(lambda: idle(server.stats()), seconds, "the worker is idle")
    return time.monotonic() - begin


def idle(stats):
    return stats["requests_running"] == 0 and stats["requests_waiting"] == 0


class ClientTest(unittest.TestCase):
    """Tests over the shared server; `client` is the official package's."""

    @classmethod
    def setUpClass(cls):
        cls.server = shared_server()
        cls.client = sdk(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def chat(self, text, **fields):
        messages = user(text) if isinstance(text, str) else text
        return self.client.chat.completions.create(**{"model": MODEL, "messages": messages, "temperature": 0, **fields})
