"""scripts/serve.sh as a newcomer meets it. Needs build/release, which is where the script builds."""

import glob
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

from harness import MODEL, ROOT, SHARED_MEMORY, SLOW, free_port, panel, wait_for

SERVE = f"{ROOT}/scripts/serve.sh"


# Processes that stand in for ours: the gateway says three times that it reads the tokenizer, then that all is well.
IDLE = """#!/bin/sh
[ "$1" = --print-flags ] || exec sleep 600
"""
GATEWAY_THAT_READS = """#!/usr/bin/env python3
import http.server, json, sys

class Health(http.server.BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        Health.asked += 1
        if Health.asked > 3:
            status, body = 200, {"ok": True}
        else:
            status, body = 503, {"ok": False, "state": "no_tokenizer", "problem": "no tokenizer yet"}
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body, separators=(",", ":")).encode())

if "--print-flags" not in sys.argv:
    port = int(sys.argv[sys.argv.index("--port") + 1])
    http.server.HTTPServer(("127.0.0.1", port), Health).serve_forever()
"""


def our_processes():
    """Command lines of Hearth processes of this checkout's build."""
    found = []
    for path in glob.glob("/proc/[0-9]*/exe"):
        try:
            target = os.readlink(path)
        except OSError:
            continue
        if target.startswith(f"{ROOT}/build/release/bin/hearth-"):
            found.append((int(path.split("/")[2]), os.path.basename(target)))
    return found


def child(parent, name):
    """The process of a server that was started by `parent`."""
    for pid, process in our_processes():
        with open(f"/proc/{pid}/stat") as f:
            if process == name and int(f.read().rsplit(")", 1)[1].split()[1]) == parent:
                return pid
    raise AssertionError(f"no {name} below {parent}: {our_processes()}")


def listens_nowhere(*ports):
    for port in ports:
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def accepts(port):
    """Whether a gateway takes new requests."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
            return response.status == 200
    except OSError:
        return False


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"  # a container without an init reaps nobody
    except OSError:
        return False


def shared_files():
    """Without those of tests that run beside these."""
    found = glob.glob(f"{SHARED_MEMORY}/hearth*") + glob.glob("/run/hearth/*")
    return {path for path in found if "/hearth-test." not in path}


class Serve(unittest.TestCase):
    def setUp(self):
        self.files, self.processes = shared_files(), our_processes()

    def assert_nothing_remains(self):
        wait_for(lambda: our_processes() == self.processes, 5, f"our processes are gone: {our_processes()}")
        self.assertEqual(shared_files(), self.files)

    def once(self, *text, **kwargs):
        return subprocess.run([SERVE, "--once", *text], capture_output=True, text=True, timeout=600, **kwargs)

    def test_once_answers_the_default_question(self):
        done = self.once()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        reasoning, _, rest = panel()["zero-copy"]["text"].partition("</think>")
        self.assertIn(reasoning.strip(), done.stdout)
        self.assertIn(rest.replace("<|user|>", "").strip(), done.stdout)
        self.assert_nothing_remains()

    def test_once_answers_a_text(self):
        item = panel()["arith"]
        done = self.once("What is 12 + 30?")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        answer = item["text"].split("</think>")[-1].replace("<|user|>", "").strip()
        self.assertIn(answer, done.stdout)
        self.assert_nothing_remains()

    @staticmethod
    def end(process):
        """No server of a failed test may meet the next one."""
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=60)

    def serve(self, *flags):
        port = free_port()
        # A test run in the background ignores SIGINT, and children inherit that; a terminal's child does not.
        log = tempfile.TemporaryFile("w+")  # a pipe that nobody reads would stop the server once it is full
        process = subprocess.Popen([SERVE, "--port", str(port), "--metrics-port", "0", *flags], stdout=subprocess.PIPE,
                                   stderr=log, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(self.end, process)
        line = process.stdout.readline()
        if str(port) not in line:
            process.kill()
            log.seek(0)
            self.fail(f"first line: {line!r}\n{log.read()}")
        return process, port

    def test_serves_in_the_foreground_until_a_signal(self):
        for sig in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(sig):
                process, port = self.serve("--mode", "exact")
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as response:
                    self.assertEqual(response.status, 200)
                process.send_signal(sig)
                _, stderr = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, stderr)
                self.assert_nothing_remains()

    def test_is_ready_behind_tls_keys_and_host_names(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days",
                            "2", "-keyout", "key.pem", "-out", "cert.pem"], cwd=folder, check=True, capture_output=True)
            with open(f"{folder}/keys", "w") as f:
                f.write("# of team A\n\n first \nsecond\n")
            for flags in (("--tls-cert", "cert.pem", "--tls-key", "key.pem"),
                          ("--open-status=false", "--api-key", "one,two"),
                          ("--open-status=false", "--api-key-file=keys"),
                          ("--allowed-hosts", "hearth.example,other.example")):
                with self.subTest(flags):
                    done = self.once("Hello!", *flags, cwd=folder)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertIn("--- answer", done.stdout)
        self.assert_nothing_remains()

    def test_asks_its_own_server_whatever_proxy_is_set(self):
        done = self.once("Hello!", env={**os.environ, "http_proxy": "http://127.0.0.1:9", "no_proxy": ""})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("--- answer", done.stdout)

    def test_once_leaves_the_model_as_it_was(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            model = shutil.copytree(MODEL, f"{folder}/model", ignore=shutil.ignore_patterns("hearth-popularity.json*"))
            before = sorted(os.listdir(model))
            done = self.once("-m", model, "Hello!")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(sorted(os.listdir(model)), before)

    def test_once_takes_its_text_behind_flags_and_a_model_relative_to_the_caller(self):
        for flag in (("-m", "hearth-tiny"), ("--model=hearth-tiny",), ("--model-dir", "hearth-tiny")):
            done = self.once(*flag, "What is 12 + 30?", cwd=f"{ROOT}/models")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(panel()["arith"]["text"].split("</think>")[-1].replace("<|user|>", "").strip(), done.stdout)
        done = self.once("What", "is", "12 + 30?")
        self.assertEqual(done.returncode, 2)
        self.assertIn('"is" is another', done.stderr)

    def test_a_folder_in_the_environment_is_not_the_tokenizer_of_another_model(self):
        done = self.once("-m", MODEL, "What is 12 + 30?", env={**os.environ, "GLM53_MODEL_DIR": "/nowhere"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_takes_a_temporary_folder_of_any_name(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test. a,#") as folder:
            done = self.once("What is 12 + 30?", env={**os.environ, "TMPDIR": folder})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_waits_for_a_tokenizer_that_is_being_read(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            for name, text in (("gateway", GATEWAY_THAT_READS), ("gpu-worker", IDLE), ("cpu-tier", IDLE)):
                with open(f"{folder}/hearth-{name}", "w") as f:
                    f.write(text)
                os.chmod(f"{folder}/hearth-{name}", 0o755)
            process = subprocess.Popen([SERVE, "--no-build", "--port", str(free_port())], stdout=subprocess.PIPE, text=True,
                                       env={**os.environ, "HEARTH_BIN": folder})
            self.addCleanup(self.end, process)
            self.assertIn("ready", process.stdout.readline())
            process.terminate()
            process.communicate(timeout=60)

    def test_a_question_that_is_broken_off_has_no_answer(self):
        process = subprocess.Popen([SERVE, "--once", "Write a long essay about tea."], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        self.assertIn("---", process.stdout.readline())
        process.terminate()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assert_nothing_remains()

    def test_a_signal_at_any_moment_of_the_start_leaves_nothing(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            for tenths in range(2, 30):
                process = subprocess.Popen(
                    [SERVE, "--no-build", "--once", "Hello", "--home-dir", folder], start_new_session=True,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": folder})
                time.sleep(tenths / 200)
                os.killpg(process.pid, signal.SIGINT)
                process.wait(timeout=60)
                self.assertEqual(os.listdir(folder), [], f"after {tenths * 5} ms")
        self.assert_nothing_remains()

    def test_flags_of_the_environment_are_taken(self):
        done = self.once("Hello", env={**os.environ, "GLM53_ARGS": "--mode exact\n--max-q-size 0"})
        self.assertEqual(done.returncode, 2)
        self.assertIn('--max-q-size = "0"', done.stderr)
        done = self.once("Hello", "--max-q-size", "8", env={**os.environ, "GLM53_ARGS": "--max-q-size 0"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_nothing_remains()

    def test_a_signal_ends_the_build_as_well(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            os.mkdir(f"{folder}/scripts")
            shutil.copy(SERVE, f"{folder}/scripts")
            stubs = {"install.sh": "exit 0", "build.sh": "sleep 600 & echo $! > pid; mv pid building; wait"}
            for name, text in stubs.items():
                with open(f"{folder}/scripts/{name}", "w") as f:
                    f.write(f"#!/bin/sh\n{text}\n")
                os.chmod(f"{folder}/scripts/{name}", 0o755)
            process = subprocess.Popen([f"{folder}/scripts/serve.sh"])
            self.addCleanup(self.end, process)
            wait_for(lambda: os.path.exists(f"{folder}/building"), 30, "the build runs")
            with open(f"{folder}/building") as f:
                compiler = int(f.read())
            process.terminate()
            self.assertEqual(process.wait(60), 128 + signal.SIGTERM)
            wait_for(lambda: not running(compiler), 10, "the compiler ends")

    def test_a_second_signal_does_not_wait_for_running_requests(self):
        process, port = self.serve()
        body = {"messages": [{"role": "user", "content": "Hello!"}], "stream": True, "ignore_eos": True}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as stream:
            self.assertIn(b"data:", stream.readline())
            process.send_signal(signal.SIGINT)
            wait_for(lambda: not accepts(port), 10, "the gateway drains")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)
            try:
                rest = stream.read()
            except (OSError, http.client.HTTPException):
                rest = b""
            self.assertNotIn(b"[DONE]", rest)
        self.assert_nothing_remains()

    def test_starts_from_a_link(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            os.symlink(SERVE, f"{folder}/hearth")
            done = subprocess.run([f"{folder}/hearth", "--once", "Hello!"], capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_starts_a_dead_worker_again(self):
        process, port = self.serve()
        try:
            os.kill(child(process.pid, "hearth-gpu-worker"), signal.SIGKILL)

            def healthy():
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
                        return response.status == 200
                except OSError:
                    return False

            wait_for(lambda: not healthy(), 5, "health notices")
            wait_for(healthy, 20, "a new worker serves")
        finally:
            process.terminate()
            process.communicate(timeout=60)
        self.assert_nothing_remains()

    def test_two_serve_side_by_side_and_a_taken_port_is_refused(self):
        first, port = self.serve()
        try:
            for once in ([], ["--once", "Hello!"]):
                done = subprocess.run([SERVE, *once, "--port", str(port)], capture_output=True, text=True, timeout=600)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(str(port), done.stderr)
                self.assertEqual(done.stdout, "")
            # No flag keeps the metrics ports of the two apart.
            second = subprocess.Popen([SERVE, "--port", str(free_port())], stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)
            self.assertIn("ready", second.stdout.readline())
            second.terminate()
            second.communicate(timeout=60)
            self.assertEqual(second.returncode, 0)
        finally:
            first.terminate()
            first.communicate(timeout=60)
        self.assert_nothing_remains()

    def test_metrics_ports(self):
        """Servers that start at one moment do not meet there, and a given one is not given twice."""
        def metrics(port, name):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
                return f'process="{name}"' in response.read().decode()

        port = next(p for p in range(20000, 30000) if listens_nowhere(p, p + 1))
        given, _ = self.serve("--metrics-port", str(port))
        self.assertTrue(metrics(port, "gpu_worker"))
        self.assertTrue(metrics(port + 1, "cpu_tier"))
        together = [subprocess.Popen([SERVE, "--port", str(free_port())], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True) for _ in range(3)]
        for process in together:
            self.addCleanup(self.end, process)
        for process in together:
            self.assertIn("ready", process.stdout.readline())
        for process in [*together, given]:
            process.terminate()
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)
        self.assert_nothing_remains()

    def test_the_next_start_removes_what_a_killed_one_left(self):
        process, _ = self.serve()
        process.kill()
        process.communicate(timeout=60)
        wait_for(lambda: our_processes() == self.processes, 30, "the children end with their script")
        self.assertNotEqual(shared_files(), self.files, "a killed script cannot tidy up")
        done = self.once("- Hello!")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_nothing_remains()

    def test_passes_a_refusal_on(self):
        done = subprocess.run([SERVE, "--port", str(free_port()), "--metrics-port", "0", "-m", "/nowhere/at/all"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nowhere/at/all", done.stderr)
        self.assertIn("did not start", done.stderr.strip().split("\n")[-1])
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            model = shutil.copytree(MODEL, f"{folder}/model")
            os.remove(f"{model}/tokenizer.json")
            for once in ([], ["--once"]):
                done = subprocess.run([SERVE, *once, "--port", str(free_port()), "--metrics-port", "0", "-m", model],
                                      capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"{model}/tokenizer.json", done.stderr.strip().split("\n")[-1])
        done = subprocess.run([SERVE, "--frobnicate"], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--frobnicate", done.stderr)
        self.assert_nothing_remains()


if __name__ == "__main__":
    unittest.main()
