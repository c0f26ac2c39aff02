"""What cannot work is refused at start: one line that names the thing and what would help, a code, nothing left behind."""

import json
import os
import shutil
import socket
import struct
import subprocess
import unittest

from harness import MODEL
from refusing import RefusalCase

HELP = "fetch the checkpoint again, or choose another with -m"


class Refusals(RefusalCase):
    def model_copy(self):
        copy = os.path.join(self.dir, "model")
        shutil.copytree(MODEL, copy)
        return copy

    def edit_header(self, path, change):
        """Rewrites a safetensors header in place of the old one; the data stays."""
        with open(path, "rb") as f:
            (length,) = struct.unpack("<Q", f.read(8))
            header, data = json.loads(f.read(length)), f.read()
        change(header)
        text = json.dumps(header).encode()
        with open(path, "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text + data)

    def test_truncated_shard(self):
        model = self.model_copy()
        shard = f"{model}/model-00001-of-00002.safetensors"
        os.truncate(shard, os.path.getsize(shard) // 2)
        self.refuse_worker(model, ["model-00001-of-00002.safetensors", "truncated", HELP])

    def test_wrong_dtype(self):
        model = self.model_copy()
        name = "model.language_model.norm.weight"

        def change(header):
            header[name]["dtype"] = "I16"

        self.edit_header(f"{model}/model-00002-of-00002.safetensors", change)
        self.refuse_worker(model, [name, "I16", HELP])

    def test_missing_tensor(self):
        model = self.model_copy()
        name = "model.language_model.norm.weight"
        self.edit_header(f"{model}/model-00002-of-00002.safetensors", lambda header: header.pop(name))
        self.refuse_worker(model, [name, HELP])

    def test_missing_shard(self):
        model = self.model_copy()
        os.remove(f"{model}/model-00002-of-00002.safetensors")
        self.refuse_worker(model, ["model-00002-of-00002.safetensors", HELP])

    def test_foreign_config(self):
        model = self.model_copy()
        with open(f"{model}/config.json", "w") as f:
            json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64}, f)
        self.refuse_worker(model, ["config.json", "llama", HELP])

    def test_unimplemented_value(self):
        model = self.model_copy()
        with open(f"{model}/config.json") as f:
            config = json.load(f)
        config["text_config"]["n_group"] = 2
        with open(f"{model}/config.json", "w") as f:
            json.dump(config, f)
        self.refuse_worker(model, ["n_group", "2", HELP])

    def test_no_model(self):
        self.refuse_worker(f"{self.dir}/nothing-here", ["nothing-here"])

    def test_home_mount_too_small(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small tmpfs needs root")
        mount = os.path.join(self.dir, "small")
        os.mkdir(mount)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", mount], capture_output=True).returncode:
            self.skipTest("this machine does not let us mount a tmpfs")
        try:
            self.refuse_worker(MODEL, [mount, "--home-dir"], home=mount)
        finally:
            subprocess.run(["umount", mount], check=True)

    def test_ports_in_use(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            port = str(s.getsockname()[1])
            self.refuse("hearth-gateway", "--port", port, "--worker", "unix:/nowhere", names=[port, "--port"])
            self.refuse_worker(MODEL, [port], "--grpc-listen", f"127.0.0.1:{port}")
            self.refuse("hearth-cpu-tier", "--grpc-listen", f"127.0.0.1:{port}", "--metrics-port", "0", names=[port])
            self.refuse_worker(MODEL, [port, "--metrics-port"], "--metrics-port", port)

    def test_addresses_that_nothing_could_answer(self):
        for address in ("nonsense", "host:99999", "http://host:30001"):
            self.refuse("hearth-gateway", "--port", "0", "--worker", address, names=["--worker", address])
            self.refuse_worker(MODEL, ["--cpu-tier", address], "--cpu-tier", address)
        for host in ("http://hearth.example", "hearth.example:8080"):
            self.refuse("hearth-gateway", "--port", "0", "--allowed-hosts", host, names=["--allowed-hosts", host])
        for origin in ("chat.example", "https://chat.example/", "https://"):
            self.refuse("hearth-gateway", "--port", "0", "--cors-origins", origin, names=["--cors-origins", origin])

    def test_bad_options_are_reported_together(self):
        done = self.refuse("hearth-gateway", "--port", "seven", "--no-such-flag", "--host", "127.0.0.1",
                           names=["--port", "seven", "--no-such-flag"], one_line=False)
        self.assertEqual(done.returncode, 2)
        done = self.refuse("hearth-gpu-worker", "--mode", "sloppy", "-chunk_size", "100",
                           names=["--mode", "sloppy", "chunk"], one_line=False)
        self.assertEqual(done.returncode, 2)


class Requests(unittest.TestCase):
    def test_bad_bodies_get_an_error_object_and_the_server_serves_on(self):
        from harness import Server

        with Server() as server:
            bad = [
                b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"messages": 1}', b'{"model": 7, "messages": []}',
                b'{"messages": [{"role": "user", "content": "\\ud800"}]}', b"[" * 5000,
                json.dumps({"messages": [{"role": "king", "content": "x"}]}).encode(),
                json.dumps(server.chat("x", temperature=-1)).encode(),
                json.dumps(server.chat("x", temperature=1e18)).encode(),
                json.dumps(server.chat("x", max_tokens="many")).encode(),
                json.dumps(server.chat("x", top_p=float("nan"))).encode(),
                json.dumps(server.chat("x", stop=[""])).encode(),
                json.dumps(server.chat("x", n=0)).encode(),
            ]
            for body in bad:
                status, _, answer = server.request("POST", "/v1/chat/completions", body)
                self.assertEqual(status, 400, (body[:60], answer))
                self.assertIn("message", answer["error"], body[:60])
            status, _, answer = server.request("POST", "/v1/chat/completions", {**server.chat("x"), "model": "gpt-9"})
            self.assertEqual(status, 404)
            status, _, answer = server.request("POST", "/v1/completions",
                                               {"model": "hearth-tiny", "prompt": "word " * 9000, "max_tokens": 1})
            self.assertEqual(status, 400)
            self.assertIn("8192", answer["error"]["message"])
            self.assertEqual(server.get("/no/such/route")[0], 404)
            status, headers, _ = server.request("PUT", "/v1/models")
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD, OPTIONS"))
            server.post("/v1/chat/completions", server.chat("Hello!"))


if __name__ == "__main__":
    unittest.main()
