"""Malformed bodies over every route: each gets a JSON error object with a 4xx status, the gateway's memory stays where
it was, and the server serves on. Prints the slowest; HEARTH_TEST_BODY_MS makes it a limit, for idle machines."""

import http.client
import json
import os
import time
import unittest

from malformed_bodies import ROUTES, VALID, all_bodies
from support import MODEL, SLOW, Server, user

LIMIT_MS = float(os.environ.get("HEARTH_TEST_BODY_MS", "0"))
STATUSES = {400, 404, 413, 415, 422}
# An answer of these says that the rest of the body is not read: the client may lose the connection while sending.
NOT_READ = {413, 415}


def rss_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


class Malformed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(tier=False)
        cls.connection = None

    @classmethod
    def tearDownClass(cls):
        if cls.connection:
            cls.connection.close()
        cls.server.stop()

    def send(self, route, body, headers):
        """-> status, body, milliseconds. Keeps the connection as long as the server does."""
        cls = type(self)
        for attempt in (0, 1):
            if cls.connection is None:
                cls.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30 * SLOW)
            begin = time.monotonic()
            try:
                try:
                    cls.connection.request("POST", route, body, {"Content-Type": "application/json", **headers})
                except (BrokenPipeError, ConnectionResetError):
                    # The server answers a body that it will not read while it is still being sent.
                    response = http.client.HTTPResponse(cls.connection.sock, method="POST")
                    response.begin()
                else:
                    response = cls.connection.getresponse()
                status, data = response.status, response.read()
                if response.will_close:
                    cls.connection.close()
                    cls.connection = None
                return status, data, (time.monotonic() - begin) * 1000
            except (http.client.RemoteDisconnected, ConnectionError):
                cls.connection.close()
                cls.connection = None
                if attempt:
                    raise

    def test_every_body_gets_an_error_object(self):
        for route in ROUTES:  # warm: allocators and threads are there before memory is looked at
            status, data, _ = self.send(
                route,
                json.dumps({**VALID[route], "model": MODEL} if route != "/generate" else VALID[route]).encode(),
                {},
            )
            self.assertEqual(status, 200, data)
        pid = self.server.processes["gateway"].pid
        before, times, wrong = rss_kb(pid), [], []
        for route in ROUTES:
            for name, body, headers in all_bodies(route):
                status, data, ms = self.send(route, body, headers)
                times.append((ms, route, name, status))
                try:
                    error = json.loads(data)["error"]
                    whole = {"message", "type", "param", "code"} <= set(error) and bool(error["message"])
                except (ValueError, KeyError, TypeError):
                    whole = False
                if status not in STATUSES or not whole:
                    wrong.append(f"{route} {name}: {status} {data[:200]!r} for {body[:200]!r}")
        after = rss_kb(pid)
        times.sort(reverse=True)
        print(f"\n{len(times)} malformed bodies; gateway RSS {before // 1024} -> {after // 1024} MB; slowest:")
        for ms, route, name, status in times[:5]:
            print(f"  {ms:7.1f} ms  {status}  {route}  {name}")
        self.assertGreater(len(times), 200)
        self.assertEqual(wrong, [], f"{len(wrong)} of {len(times)}:\n" + "\n".join(wrong[:40]))
        self.assertLess(after - before, 64 * 1024, "kB")
        if LIMIT_MS:
            self.assertLess(times[0][0], LIMIT_MS, times[:5])
        answer = self.server.post(
            "/v1/chat/completions", {"model": MODEL, "messages": user("Hello!"), "temperature": 0}
        )
        self.assertTrue(answer["choices"][0]["message"]["content"])
        self.assertTrue(all(p.poll() is None for p in self.server.processes.values()))


if __name__ == "__main__":
    unittest.main()
