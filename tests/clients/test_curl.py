"""What people type: curl with plain, streamed, chunked and refused requests."""

import json
import shutil
import subprocess
import unittest

from support import MODEL, SLOW, ClientTest, Server, idle, user, wait_for

CURL = shutil.which("curl")


@unittest.skipUnless(CURL, "curl is not installed")
class Curl(ClientTest):
    def curl(self, path, body=None, *flags, code=0):
        command = [CURL, "-sS", "--max-time", str(int(60 * SLOW)), f"http://127.0.0.1:{self.server.port}{path}", *flags]
        if body is not None:
            command += ["-H", "Content-Type: application/json", "-d", "@-"]
        done = subprocess.run(command, input=None if body is None else json.dumps(body).encode(), capture_output=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.decode()

    def body(self, **fields):
        return {"model": MODEL, "messages": user("Hello!"), "temperature": 0, **fields}

    def test_a_chat(self):
        answer = json.loads(self.curl("/v1/chat/completions", self.body()))
        self.assertTrue(answer["choices"][0]["message"]["content"])

    def test_a_stream_ends_with_done(self):
        lines = [line for line in self.curl("/v1/chat/completions", self.body(stream=True), "-N").split("\n\n") if line]
        self.assertEqual(lines[-1], "data: [DONE]")
        for line in lines[:-1]:
            self.assertTrue(line.startswith("data: "), line)
            json.loads(line[6:])

    def test_chunked_uploads_expect_and_old_http(self):
        want = json.loads(self.curl("/v1/chat/completions", self.body()))["choices"]
        for flags in (["-H", "Transfer-Encoding: chunked"], ["-H", "Expect: 100-continue"], ["--http1.0"]):
            answer = json.loads(self.curl("/v1/chat/completions", self.body(), *flags))
            self.assertEqual(answer["choices"], want, flags)

    def test_the_default_content_type_of_curl_is_taken(self):
        done = subprocess.run(
            [CURL, "-sS", f"http://127.0.0.1:{self.server.port}/v1/chat/completions", "-d", json.dumps(self.body())],
            capture_output=True,
            timeout=60 * SLOW,
        )
        self.assertIn("choices", json.loads(done.stdout))

    def test_fail_flag_sees_errors(self):
        self.curl("/v1/chat/completions", self.body(temperature=9), "--fail", code=22)
        answer = json.loads(self.curl("/v1/chat/completions", self.body(temperature=9)))
        self.assertEqual(answer["error"]["param"], "temperature")

    def test_two_requests_use_one_connection(self):
        url = f"http://127.0.0.1:{self.server.port}/health"
        done = subprocess.run(
            [CURL, "-sS", "-w", "%{num_connects}\n", "-o", "/dev/null", url, "-o", "/dev/null", url],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.stdout.split(), ["1", "0"])

    def test_an_interrupted_curl_ends_the_generation(self):
        process = subprocess.Popen(
            [
                CURL,
                "-sSN",
                f"http://127.0.0.1:{self.server.port}/v1/chat/completions",
                "-d",
                json.dumps(self.body(stream=True, ignore_eos=True, max_tokens=4000)),
            ],
            stdout=subprocess.PIPE,
        )
        process.stdout.read(500)
        wait_for(lambda: self.server.stats()["requests_running"] == 1, 5, "the stream runs")
        process.terminate()
        process.stdout.close()
        process.wait()
        wait_for(lambda: idle(self.server.stats()), 1, "the generation has ended")

    def test_keys(self):
        with Server(gateway_flags=["--api-key", "sesame"], tier=False) as server:
            url = f"http://127.0.0.1:{server.port}/v1/models"
            for flags, code in (
                ([], "401"),
                (["-H", "Authorization: Bearer sesame"], "200"),
                (["-H", "x-api-key: no"], "401"),
            ):
                done = subprocess.run(
                    [CURL, "-sS", "-o", "/dev/null", "-w", "%{http_code}", url, *flags],
                    capture_output=True,
                    text=True,
                    timeout=60,
                )
                self.assertEqual(done.stdout, code, flags)


if __name__ == "__main__":
    unittest.main()
