"""A client that stops reading costs the server the write timeout, no more."""

import json
import re
import socket
import unittest

from harness import Server, wait_for


class StopsReading(unittest.TestCase):
    def test_it_is_cancelled_and_counted(self):
        with Server(tier=False, gateway_flags=["--write-timeout", "500ms"]) as server, socket.socket() as client:
            # /generate repeats the whole text with every event, so the buffers on the way are soon full.
            body = json.dumps({"text": "Once upon a time", "stream": True,
                               "sampling_params": {"max_new_tokens": 8000, "ignore_eos": True}}).encode()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", server.port))
            client.sendall(b"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(body) + body)
            wait_for(lambda: server.stats()["requests_running"] == 1, 20, "it runs")

            def cancelled(phase):
                text = server.get("/metrics")[2]
                return int(re.search(rf'^hearth_cancelled_total{{phase="{phase}"}} (\d+)$', text, re.M).group(1))

            wait_for(lambda: cancelled("not_reading") == 1, 60, "the gateway counts it")
            wait_for(lambda: server.stats()["requests_running"] == 0, 10, "the worker is free")
            self.assertEqual([cancelled(phase) for phase in ("queued", "prefill", "decode")], [0, 0, 0])
            server.post("/v1/chat/completions", server.chat("Hello!"))


if __name__ == "__main__":
    unittest.main()
