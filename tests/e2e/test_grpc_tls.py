"""TLS between gateway and worker: chats over it, and says what is wrong when certificates do not fit."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness import MODEL, Server, free_port, panel, wait_for
from refusing import RefusalCase


class Certificates:
    """PEM files in a folder: NAME.pem and NAME-key.pem."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="hearth-test.")
        for name in ("ca", "other-ca"):
            self.make(name, "-subj", f"/CN={name}")
        for name in ("worker", "gateway"):
            self.make(name, "-subj", f"/CN={name}.example", "-addext", f"subjectAltName=DNS:{name}.example",
                      "-addext", "basicConstraints=CA:FALSE", "-CA", self["ca"], "-CAkey", self["ca-key"])

    def make(self, name, *flags):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout",
                        self[f"{name}-key"], "-out", self[name], *flags], check=True, capture_output=True)

    def __getitem__(self, name):
        return os.path.join(self.folder, f"{name}.pem")

    def worker_flags(self):
        return ["--grpc-tls-cert", self["worker"], "--grpc-tls-key", self["worker-key"], "--grpc-tls-client-ca",
                self["ca"]]

    def gateway_flags(self, ca="ca", name="worker.example"):
        return ["--worker-tls-ca", self[ca], "--worker-tls-cert", self["gateway"], "--worker-tls-key",
                self["gateway-key"], "--worker-tls-name", name]


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pem = Certificates()
        cls.addClassCleanup(shutil.rmtree, cls.pem.folder, True)

    def server(self, worker_flags, gateway_flags, **options):
        return Server(worker_flags=worker_flags, gateway_flags=gateway_flags, tier=False,
                      worker_address=f"127.0.0.1:{free_port()}", **options)

    def test_a_chat_over_mutual_tls(self):
        reasoning, content = panel()["hello"]["text"].removesuffix("<|user|>").split("</think>")
        with self.server(self.pem.worker_flags(), self.pem.gateway_flags()) as server:
            message = server.post("/v1/chat/completions", server.chat("Hello!"))["choices"][0]["message"]
            self.assertEqual((message["reasoning_content"], message["content"]), (reasoning, content))

    def test_a_worker_that_does_not_fit_is_down_and_somebody_says_why(self):
        # The gateway knows what it refuses itself. What the worker refuses is in the worker's log: to the gateway it is
        # a connection that closes.
        anonymous = ["--worker-tls-ca", self.pem["ca"], "--worker-tls-name", "worker.example"]
        for what, worker_flags, gateway_flags, who, cause in (
                ("wrong authority", self.pem.worker_flags(), self.pem.gateway_flags(ca="other-ca"), "gateway",
                 "certificate verify failed"),
                ("wrong name", self.pem.worker_flags(), self.pem.gateway_flags(name="else.example"), "gateway",
                 "else.example is not in peer certificate"),
                ("a plain worker", [], self.pem.gateway_flags(), "gateway", "wrong version number"),
                ("a plain gateway", self.pem.worker_flags(), [], "worker", "wrong version number"),
                ("no certificate", self.pem.worker_flags(), anonymous, "worker", "did not return a certificate")):
            with self.subTest(what), self.server(worker_flags, gateway_flags, wait=False) as server:
                wait_for(lambda: cause in server.log(who), 20, f"the {who}'s log says {cause}")
                if who == "gateway":
                    wait_for(lambda: cause in server.health()[1].get("problem", ""), 20, f"/health says {cause}")
                wait_for(lambda: "ready address=" in server.log("worker"), 60, "the worker is ready")
                status, body = server.health()
                self.assertEqual((status, body["state"]), (503, "worker_down"))


class Refusals(RefusalCase):
    def test_certificates_that_make_no_sense_are_refused(self):
        tcp = ("--grpc-listen", "127.0.0.1:0")
        for flags, names in (((*tcp, "--grpc-tls-cert", "a.pem"), ["--grpc-tls-key"]),
                             ((*tcp, "--grpc-tls-key", "a.pem"), ["--grpc-tls-key"]),
                             ((*tcp, "--grpc-tls-client-ca", "a.pem"), ["--grpc-tls-client-ca"]),
                             ((*tcp, "--grpc-tls-cert", "absent.pem", "--grpc-tls-key", "a.pem"), ["absent.pem"]),
                             (("--grpc-tls-cert", "a.pem", "--grpc-tls-key", "a.pem"), ["--grpc-tls-cert", "unix:"])):
            done = self.refuse_worker(MODEL, names, *flags)
            self.assertEqual(done.returncode, 2, flags)
        for flags, names in ((["--worker-tls-ca", "absent.pem"], ["absent.pem", "--worker-tls-ca"]),
                             (["--worker-tls-ca", "a.pem", "--worker", "unix:/nowhere"], ["--worker-tls-ca", "unix:"]),
                             (["--worker-tls-ca", "a.pem", "--worker-tls-cert", "a.pem"], ["--worker-tls-key"]),
                             (["--worker-tls-cert", "a.pem", "--worker-tls-key", "a.pem"], ["--worker-tls-cert"]),
                             (["--worker-tls-name", "worker.example"], ["--worker-tls-name"])):
            done = self.refuse("hearth-gateway", "--port", "0", *flags, names=names)
            self.assertEqual(done.returncode, 2, flags)


if __name__ == "__main__":
    unittest.main()
