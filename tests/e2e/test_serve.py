"""scripts/serve.sh as a newcomer meets it. Needs build/release, which is where the script builds."""

import glob
import os
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.request

from harness import ROOT, SHARED_MEMORY, SLOW, free_port, panel, wait_for

SERVE = f"{ROOT}/scripts/serve.sh"


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

    def once(self, *text):
        return subprocess.run([SERVE, "--once", *text], capture_output=True, text=True, timeout=600)

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
        done = subprocess.run([SERVE, "--frobnicate"], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--frobnicate", done.stderr)
        self.assert_nothing_remains()


if __name__ == "__main__":
    unittest.main()
