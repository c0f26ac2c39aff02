"""Starts the three real processes for tests and speaks to them. Standard library only.

The binaries are taken from HEARTH_BIN (default build/release/bin). Every server gets ports, sockets and an expert home
of its own in a temporary folder, so tests do not disturb each other or a running server.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("HEARTH_BIN", os.path.join(ROOT, "build", "release", "bin"))
MODEL = os.path.join(ROOT, "models", "hearth-tiny")
PANEL = os.path.join(ROOT, "reference", "hearth-tiny-panel.json")
SHARED_MEMORY = os.environ.get("HEARTH_TEST_SHM", "/dev/shm")
# Sanitizer builds are an order of magnitude slower; only deadlines of the tests grow, never what they expect.
SLOW = float(os.environ.get("HEARTH_TEST_SLOWDOWN", "1"))

# What one test's worker saw is nothing to the next one's, and the model's folder stays as it is.
os.environ["HEARTH_POPULARITY"] = "none"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def panel():
    with open(PANEL) as f:
        return {item["name"]: item for item in json.load(f)}


def wait_for(condition, seconds, what):
    """Polls until condition() is true; fails the test, with `what`, after the time."""
    end = time.monotonic() + seconds * SLOW
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


class Server:
    """Worker, CPU tier and gateway. Any of them can be killed and started again."""

    def __init__(self, worker_flags=(), gateway_flags=(), tier=True, tier_flags=(), model=MODEL, env=None, home=None,
                 wait=True, worker_address=None):
        self.run = tempfile.mkdtemp(prefix="hearth-test.")
        self.own_home = home is None
        self.home = home or tempfile.mkdtemp(prefix="hearth-test.", dir=SHARED_MEMORY)
        self.port = free_port()
        self.metrics_ports = {"worker": free_port(), "tier": free_port()}
        self.env = {**os.environ, **(env or {})}
        self.worker_address = worker_address or f"unix:{self.run}/worker.sock"
        self.tier_address = f"unix:{self.run}/tier.sock"
        self.commands = {
            "tier": [f"{BIN}/hearth-cpu-tier", "--grpc-listen", self.tier_address, "--metrics-port",
                     str(self.metrics_ports["tier"]), *tier_flags],
            "worker": [f"{BIN}/hearth-gpu-worker", "-m", model, "--grpc-listen", self.worker_address, "--cpu-tier",
                       self.tier_address, "--home-dir", self.home, "--metrics-port", str(self.metrics_ports["worker"]),
                       *worker_flags],
            "gateway": [f"{BIN}/hearth-gateway", "--port", str(self.port), "--worker", self.worker_address,
                        *gateway_flags],
        }
        self.processes = {}
        for name in (["tier"] if tier else []) + ["worker", "gateway"]:
            self.start(name)
        if wait:
            try:
                self.wait_ready(with_tier=tier)
            except BaseException:
                self.stop()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, name):
        log = open(self.log_path(name), "ab")
        self.processes[name] = subprocess.Popen(self.commands[name], stdout=log, stderr=log, env=self.env)
        log.close()

    def log_path(self, name):
        return os.path.join(self.run, f"{name}.log")

    def log(self, name):
        with open(self.log_path(name), errors="replace") as f:
            return f.read()

    def wait_ready(self, seconds=60, with_tier=False):
        def ready():
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise AssertionError(f"{name} ended with {process.returncode}:\n{self.log(name)}")
            return self.health()[0] == 200

        try:
            wait_for(ready, seconds, "the server is ready")
            if with_tier and "--mode" in self.commands["worker"] and "exact" in self.commands["worker"]:
                return
            if with_tier:
                wait_for(lambda: not self.health()[1].get("degraded"), 10, "the CPU tier is attached")
        except AssertionError as error:
            raise AssertionError(f"{error}\n--- worker\n{self.log('worker')}\n--- gateway\n{self.log('gateway')}") from None

    def kill(self, name, sig=signal.SIGKILL):
        self.processes[name].send_signal(sig)
        if sig in (signal.SIGKILL, signal.SIGTERM):
            self.processes[name].wait(timeout=30 * SLOW)

    def stop(self):
        for name in ("gateway", "worker", "tier"):
            process = self.processes.get(name)
            if process and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20 * SLOW)
            if process.poll() is None:
                process.kill()
                process.wait()
        report = self.sanitizer_report()
        shutil.rmtree(self.run, ignore_errors=True)
        if self.own_home:
            shutil.rmtree(self.home, ignore_errors=True)
        if report:
            raise AssertionError(report)

    def sanitizer_report(self):
        """What the sanitizers of such a build have said in the logs, "" for nothing."""
        found = (re.search(r"\w+Sanitizer: .*", self.log(name), re.DOTALL) for name in self.processes)
        return "\n".join(match[0] for match in found if match)

    # ---------------------------------------------------------------- HTTP

    def connection(self, timeout=120):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout * SLOW)

    def request(self, method, path, body=None, headers=None, timeout=120):
        """-> status, headers, parsed JSON (or text)."""
        connection = self.connection(timeout)
        try:
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            text = response.read().decode()
            with contextlib.suppress(ValueError):
                return response.status, response.headers, json.loads(text)
            return response.status, response.headers, text
        finally:
            connection.close()

    def get(self, path, **kwargs):
        return self.request("GET", path, **kwargs)

    def post(self, path, body, **kwargs):
        """-> parsed answer of a request that must succeed."""
        status, _, answer = self.request("POST", path, body, **kwargs)
        if status != 200:
            raise AssertionError(f"POST {path}: {status}: {answer}")
        return answer

    def health(self):
        try:
            status, _, body = self.get("/health", timeout=5)
            return status, body if isinstance(body, dict) else {}
        except OSError:
            return 0, {}

    def stream(self, path, body, timeout=120):
        """Yields (seconds since the request, event) for every server-sent event; "[DONE]" is the last."""
        connection = self.connection(timeout)
        try:
            begin = time.monotonic()
            connection.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise AssertionError(f"POST {path}: {response.status}: {response.read().decode()}")
            for line in response:
                if line.startswith(b"data: "):
                    data = line[6:].strip()
                    yield time.monotonic() - begin, "[DONE]" if data == b"[DONE]" else json.loads(data)
        finally:
            connection.close()

    def chat(self, messages, **fields):
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        return {"model": "hearth-tiny", "messages": messages, "temperature": 0, **fields}

    def generate(self, input_ids, max_new_tokens, **fields):
        params = {"temperature": 0, "max_new_tokens": max_new_tokens, **fields.pop("sampling_params", {})}
        return self.post("/generate", {"input_ids": input_ids, "sampling_params": params, **fields})

    def logits_hashes(self, ids, path="PREFILL", decode_from=None):
        """One hash per row of the whole sequence."""
        body = {"input_ids": ids, "sampling_params": {"max_new_tokens": 0}, "return_logprob": True,
                "logprob_start_len": 0, "top_logprobs_num": 0, "logits_hash": True, "path": path}
        if decode_from is not None:
            body["decode_from"] = decode_from
        return self.post("/generate", body)["meta_info"]["input_logits_hash"]

    def stats(self):
        return self.get("/stats")[2]


def collect_chat(events):
    """Adds the deltas of a chat stream up -> (message, finish_reason, usage, arrival times of deltas)."""
    message = {"reasoning_content": "", "content": "", "tool_calls": []}
    finish, usage, times = None, None, []
    for at, event in events:
        if event == "[DONE]":
            break
        if "error" in event:
            raise AssertionError(f"error event: {event}")
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            delta = choice["delta"]
            for field in ("reasoning_content", "content"):
                if delta.get(field):
                    message[field] += delta[field]
                    times.append(at)
            for call in delta.get("tool_calls") or []:
                calls = message["tool_calls"]
                if call["index"] == len(calls):
                    calls.append({"id": call["id"], "type": call["type"], "function": dict(call["function"])})
                else:
                    calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
                times.append(at)
            finish = choice.get("finish_reason") or finish
    return message, finish, usage, times


class InBackground(threading.Thread):
    """Runs a function beside the test and hands its result, or its exception, to join()."""

    def __init__(self, function, *args, **kwargs):
        super().__init__(daemon=True)
        self.call = lambda: function(*args, **kwargs)
        self.value, self.error = None, None
        self.start()

    def run(self):
        try:
            self.value = self.call()
        except BaseException as error:  # handed to the test's thread
            self.error = error

    def result(self, timeout=120):
        self.join(timeout * SLOW)
        if self.is_alive():
            raise AssertionError("still running")
        if self.error:
            raise self.error
        return self.value


class ServerTest(unittest.TestCase):
    """One server for all tests of a class; `options` are Server's arguments."""

    options = {}

    @classmethod
    def setUpClass(cls):
        cls.server = Server(**cls.options)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
