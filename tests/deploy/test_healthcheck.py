"""The images' health check against a server that answers or not. Standard library only."""

import http.server
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEALTHCHECK = os.path.join(ROOT, "deploy", "images", "healthcheck.sh")


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"hearth_worker_up 1\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Healthcheck(unittest.TestCase):
    def setUp(self):
        self.proc = tempfile.mkdtemp(prefix="hearth-test.")
        self.addCleanup(shutil.rmtree, self.proc)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.port = str(server.server_address[1])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def silent_port(self):
        """Takes connections and says nothing, as a TLS server does to a plain request."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return str(listener.getsockname()[1])

    def process(self, pid, *words):
        os.makedirs(os.path.join(self.proc, pid))
        with open(os.path.join(self.proc, pid, "cmdline"), "wb") as f:
            f.write(b"".join(word.encode() + b"\0" for word in words))

    def well(self, *args, **env):
        done = subprocess.run(
            ["bash", HEALTHCHECK, *args],
            capture_output=True,
            timeout=20,
            env={"PATH": os.environ["PATH"], "HEALTHCHECK_PROC": self.proc, **env},
        )
        return done.returncode == 0

    def test_the_word_for_the_port_counts_first(self):
        self.process("7", "hearth-gateway", "--port", "1")
        for role in ("gateway", "all_in_one", "gpu_worker", "cpu_tier"):
            self.assertTrue(self.well(role, self.port), role)

    def test_the_port_is_that_of_the_gateways_flag(self):
        self.process("6", "bash", "serve.sh", "--port", "1")
        self.process("7", "/opt/hearth/bin/hearth-gateway", "--port", "1", f"--port={self.port}")
        for role in ("gateway", "all_in_one"):
            self.assertTrue(self.well(role, HEARTH_PORT="1", PORT="1"), role)

    def test_the_port_may_be_a_variable(self):
        for role in ("gateway", "all_in_one"):
            self.assertTrue(self.well(role, HEARTH_PORT=self.port, PORT="1"), role)
            self.assertTrue(self.well(role, PORT=self.port), role)
            self.assertFalse(self.well(role, HEARTH_PORT="1", PORT=self.port), role)
            # Kubernetes sets such a name to the address of a service.
            self.assertTrue(self.well(role, HEARTH_PORT="tcp://10.0.0.1:80", PORT=self.port), role)

    def test_the_port_of_the_metrics_is_that_of_the_process(self):
        for role, program in (("gpu_worker", "hearth-gpu-worker"), ("cpu_tier", "hearth-cpu-tier")):
            self.assertTrue(self.well(role, HEARTH_METRICS_PORT=self.port), role)
            self.assertFalse(self.well(role, HEARTH_METRICS_PORT="1"), role)
        self.process("7", "hearth-gpu-worker", "--metrics-port", self.port)
        self.process("8", "hearth-cpu-tier", f"--metrics-port={self.port}")
        for role in ("gpu_worker", "cpu_tier"):
            self.assertTrue(self.well(role, HEARTH_METRICS_PORT="1"), role)

    def test_tls_as_a_variable_or_a_flag_asks_for_a_connection_only(self):
        silent = self.silent_port()
        for role in ("gateway", "all_in_one"):
            self.assertFalse(self.well(role, silent), role)
            self.assertTrue(self.well(role, silent, HEARTH_TLS_CERT="x.pem"), role)
            self.assertFalse(self.well(role, "1", HEARTH_TLS_CERT="x.pem"), role)
        self.process("7", "hearth-gateway", "--tls-cert", "x.pem", "--worker-tls-cert", "y.pem")
        for role in ("gateway", "all_in_one"):
            self.assertTrue(self.well(role, silent), role)

    def test_tls_of_the_gateway_is_no_business_of_the_others(self):
        silent = self.silent_port()
        for role in ("gpu_worker", "cpu_tier"):
            self.assertTrue(self.well(role, self.port, HEARTH_TLS_CERT="x.pem"), role)
            self.assertFalse(self.well(role, silent, HEARTH_TLS_CERT="x.pem"), role)

    def test_an_unknown_role_is_told(self):
        self.assertFalse(self.well("hub"))


if __name__ == "__main__":
    unittest.main()
