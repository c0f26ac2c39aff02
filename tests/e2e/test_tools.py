"""hearth-doctor and hearth-home as an operator runs them."""

import os
import socket
import subprocess
import tempfile
import unittest

from harness import BIN, MODEL, SHARED_MEMORY, Server


def run(name, *flags):
    done = subprocess.run([f"{BIN}/hearth-{name}", *flags], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


class Doctor(unittest.TestCase):
    CHECKS = ["model", "gpu", "driver", "ram", "cgroup", "cpu", "disk", "home", "memlock", "port"]

    def doctor(self, *flags):
        """-> exit code, {check: line}"""
        code, said = run("doctor", "-m", MODEL, "--home-dir", SHARED_MEMORY, "--device", "host", *flags)
        lines = said.splitlines()
        self.assertEqual([line.split()[1] for line in lines], self.CHECKS, said)
        return code, {line.split()[1]: line for line in lines}

    def test_this_machine_serves_hearth_tiny(self):
        code, lines = self.doctor()
        self.assertEqual(code, 0, lines)

    def test_a_taken_port_refuses_or_only_tells(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            port = str(s.getsockname()[1])
            code, lines = self.doctor("--host", "127.0.0.1", "--port", port)
            self.assertEqual(code, 2)
            self.assertTrue(lines["port"].startswith("REFUSED"), lines["port"])
            self.assertEqual(self.doctor("--host", "127.0.0.1", "--port", port, "--preflight", "warn")[0], 0)

    def test_a_gpu_that_is_not_there(self):
        code, said = run(
            "doctor", "-m", MODEL, "--home-dir", SHARED_MEMORY, "--device", "cuda", "--nvidia-smi", "/bin/false"
        )
        self.assertEqual(code, 2)
        self.assertIn("REFUSED  gpu", said)

    def test_a_gpu_too_old_for_any_build_leaves_the_host(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            smi = os.path.join(folder, "nvidia-smi")
            with open(smi, "w") as f:
                f.write("#!/bin/sh\necho 'NVIDIA GeForce GTX 1050, 2048, 470.199.02, 6.1'\n")
            os.chmod(smi, 0o755)
            code, lines = self.doctor("--device", "auto", "--nvidia-smi", smi)
            self.assertEqual(code, 0, lines)
            self.assertTrue(lines["gpu"].startswith("warning"), lines["gpu"])
            self.assertEqual(self.doctor("--device", "cuda", "--nvidia-smi", smi)[0], 2)

    def test_a_mistyped_folder_is_no_model(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            typo = os.path.join(folder, "typo")
            code, lines = self.doctor("-m", typo, "--preflight", "warn")
            self.assertTrue(lines["model"].startswith(f"REFUSED  model    {typo} does not exist"), lines["model"])
            code, lines = self.doctor("-m", typo, "--preflight", "warn", "--download")
            self.assertTrue(lines["model"].startswith("ok "), lines["model"])

    def test_no_folder_at_all_is_refused_as_an_option(self):
        code, said = run("doctor", "-m", "", "--device", "host")
        self.assertEqual(code, 2)
        self.assertRegex(said, r'--model = "" \(flag\): expected a folder')

    def test_a_damaged_checkpoint(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            for name in os.listdir(MODEL):
                os.symlink(os.path.join(MODEL, name), os.path.join(folder, name))
            shard = os.path.join(folder, "model-00002-of-00002.safetensors")
            os.remove(shard)
            with open(shard, "wb") as f:
                f.write(b"\0" * 100)
            code, said = run("doctor", "-m", folder, "--home-dir", SHARED_MEMORY, "--device", "host")
        self.assertEqual(code, 2)
        self.assertRegex(said, r"REFUSED +model .*model-00002-of-00002\.safetensors")


class Home(unittest.TestCase):
    def test_list_verify_drop(self):
        with Server(tier=False) as server:

            def home(*words):
                return run("home", "--home-dir", server.home, *words)

            code, said = home("list")
            self.assertEqual(code, 0)
            self.assertRegex(said, r"hearth-home-[0-9a-f]{16}  8\.4 MiB  7 layers x 32 experts  in use\n")
            self.assertEqual(home("verify")[0], 0)
            code, said = home("drop", "--all")
            self.assertEqual(code, 1)
            self.assertIn("a worker uses it", said)
            server.kill("worker")
            self.assertIn("complete, unused", home("list")[1])
            self.assertEqual(home("drop", "--all")[0], 0)
            self.assertEqual([n for n in os.listdir(server.home) if n.startswith("hearth-home")], [])

    def test_a_folder_that_cannot_be_read(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            self.assertEqual(run("home", "--home-dir", folder, "list"), (0, f"no expert home in {folder}\n"))
            file = os.path.join(folder, "file")
            with open(file, "w"):
                pass
            for place in (os.path.join(folder, "typo"), file, ""):
                for words in (["list"], ["verify"], ["drop", "--all"], ["drop", "0011"]):
                    code, said = run("home", "--home-dir", place, *words)
                    self.assertEqual(code, 2, said)
                    self.assertIn(f'--home-dir "{place}": No', said)

    def test_paths_need_no_folder(self):
        code, said = run("home", "--home-dir", "/nowhere", "verify", "./hearth-home-0011")
        self.assertEqual((code, said), (2, "./hearth-home-0011: no such home\n"))
        code, said = run("home", "--home-dir", "/nowhere", "verify", "./hearth-home-0011", "0011")
        self.assertIn('--home-dir "/nowhere": No', said)

    def test_a_wrong_command_line(self):
        for words in ([], ["melt"], ["drop"], ["list", "--force"], ["--what"]):
            self.assertEqual(run("home", *words)[0], 2, words)


if __name__ == "__main__":
    unittest.main()
