"""The images' entrypoint with stand-ins for the programs that it starts. Standard library only."""

import os
import shutil
import stat
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENTRYPOINT = os.path.join(ROOT, "deploy", "images", "entrypoint.sh")


class Entrypoint(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="hearth-test.")
        self.addCleanup(shutil.rmtree, self.root)
        self.model = os.path.join(self.root, "models")
        self.home = os.path.join(self.root, "home")
        os.makedirs(self.model)
        os.makedirs(self.home)
        self.program("bin/hearth-doctor", 'echo "doctor $*"; exit "${DOCTOR_CODE:-0}"')
        self.program("bin/hearth-gpu-worker", 'echo "worker $*"')
        self.program("scripts/serve.sh", 'echo "serve $*"')
        # Stands for python3 of the downloader: "downloads" a config.json.
        self.program(
            "downloader/bin/python3",
            'shift; echo "download $*"; [ -z "$CUT" ] || exit 2; '
            'touch "$FAKE_MODEL/config.json"; rm -f "$FAKE_MODEL/.hearth-downloading"',
        )

    def program(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(f"#!/bin/bash\n{text}\n")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)

    def have_model(self):
        with open(os.path.join(self.model, "config.json"), "w"):
            pass

    def run_it(self, *args, **env):
        """-> exit code, {first word of a line: rest}. Never as root, which would change owners."""
        environment = {
            "PATH": os.environ["PATH"],
            "GLM53_ROOT": self.root,
            "FAKE_MODEL": self.model,
            "CUT": "",
            "GLM53_MODEL_DIR": self.model,
            "HEARTH_HOME_DIR": self.home,
            "HEARTH_ROLE": "gpu_worker",
            **env,
        }
        # A stand-in for `id` makes the entrypoint take the way of an ordinary user.
        self.program("bin/id", "echo 990")
        done = subprocess.run(["bash", ENTRYPOINT, *args], capture_output=True, text=True, timeout=20, env=environment)
        lines = dict(line.partition(" ")[::2] for line in (done.stdout + done.stderr).splitlines())
        return done.returncode, lines

    def test_serves_a_model_that_is_there(self):
        self.have_model()
        code, said = self.run_it()
        self.assertEqual(code, 0, said)
        self.assertEqual(said["worker"], f"-m {self.model} --home-dir {self.home}")
        self.assertNotIn("download", said)
        self.assertTrue(said["doctor"].startswith(f"-m {self.model} --home-dir {self.home} "), said)
        self.assertTrue(said["doctor"].endswith(" --tokenizer-dir elsewhere --port 0"), said)

    def test_flags_of_the_variable_then_of_the_command_line(self):
        self.have_model()
        code, said = self.run_it("-cs", "4096", "--mode=exact", GLM53_ARGS="-cs 512 --max-batch-size 2")
        self.assertEqual(code, 0, said)
        self.assertTrue(said["worker"].endswith("-cs 512 --max-batch-size 2 -cs 4096 --mode=exact"), said)
        self.assertIn("--mode exact", said["doctor"])

    def test_the_checks_see_the_model_that_is_served(self):
        other = os.path.join(self.root, "other")
        os.makedirs(other)
        with open(os.path.join(other, "config.json"), "w"):
            pass
        code, said = self.run_it("-m", other)
        self.assertEqual(code, 0, said)
        self.assertIn(f"-m {other} ", said["doctor"])

    def test_all_in_one_serves_all_three_on_the_port(self):
        self.have_model()
        code, said = self.run_it("--served-name", "x", HEARTH_ROLE="all_in_one", PORT="1234")
        self.assertEqual(code, 0, said)
        self.assertEqual(
            said["serve"],
            f"--no-build --keep-home --host 0.0.0.0 --port 1234 -m {self.model} --home-dir "
            f"{self.home} --served-name x",
        )
        # The variable is the checks' own: as a flag, a wrong value would be told as that of a flag.
        self.assertNotIn("--port", said["doctor"])
        self.assertNotIn("--tokenizer-dir", said["doctor"])
        self.assertTrue(self.run_it(HEARTH_ROLE="all_in_one")[1]["doctor"].endswith("--port 30000"))
        code, said = self.run_it("--port", "99", HEARTH_ROLE="all_in_one", PORT="1234")
        self.assertTrue(said["doctor"].endswith("--port 99"), said)

    def test_downloads_into_an_empty_folder(self):
        code, said = self.run_it(GLM53_MODEL_REPO="me/mine", GLM53_MODEL_REVISION="abc")
        self.assertEqual(code, 0, said)
        self.assertEqual(said["download"], f"--dir {self.model} --repo me/mine --revision abc")
        self.assertIn("worker", said)

    def test_the_checks_know_that_a_download_follows(self):
        asked = os.path.join(self.root, "asked")
        self.program("bin/hearth-doctor", f'echo "$HEARTH_DOWNLOAD $*" >>{asked}')
        self.assertEqual(self.run_it()[0], 0)
        self.run_it("hearth-doctor", "-m", "x")
        self.run_it("hearth-doctor", "-m", "x", GLM53_MODEL_DOWNLOAD="0")
        with open(asked) as f:
            before, after, alone, never = f.read().splitlines()
        self.assertTrue(before.endswith(" --download"), before)
        self.assertNotIn("--download", after)
        self.assertEqual((alone, never), ("1 -m x", " -m x"))

    def test_a_fresh_disk_counts_as_empty(self):
        for name in ("lost+found", ".cache"):
            os.makedirs(os.path.join(self.model, name))
        code, said = self.run_it()
        self.assertEqual(code, 0, said)
        self.assertIn("download", said)

    def test_a_cut_download_is_taken_up_and_never_served(self):
        self.have_model()
        mark = os.path.join(self.model, ".hearth-downloading")
        with open(mark, "w"):
            pass
        code, said = self.run_it(CUT="1")
        self.assertEqual(code, 2, said)
        self.assertNotIn("worker", said)
        code, said = self.run_it()
        self.assertEqual(code, 0, said)
        self.assertIn("download", said)

    def test_does_not_download_when_told_so_or_into_foreign_files(self):
        code, said = self.run_it(GLM53_MODEL_DOWNLOAD="0")
        self.assertEqual(code, 2)
        self.assertIn("GLM53_MODEL_DOWNLOAD is not 1", said["hearth:"])
        with open(os.path.join(self.model, "holiday.jpg"), "w"):
            pass
        code, said = self.run_it()
        self.assertEqual(code, 2)
        self.assertIn("not empty either", said["hearth:"])
        self.assertNotIn("download", said)

    def test_a_refusal_of_the_checks_ends_it(self):
        self.have_model()
        code, said = self.run_it(DOCTOR_CODE="2")
        self.assertEqual(code, 2)
        self.assertIn("this machine cannot serve", said["hearth:"])
        self.assertNotIn("worker", said)

    def test_a_wrong_option_of_the_checks_is_not_told_as_an_unfit_machine(self):
        self.have_model()
        self.program("bin/hearth-doctor", 'echo "hearth-doctor: --home-dir = \\"\\" (flag): expected a folder" >&2; exit 2')
        code, said = self.run_it(HEARTH_DEVICE="gpu")
        self.assertEqual(code, 2)
        self.assertIn("could not check", said["hearth:"])
        self.assertNotIn("worker", said)

    def test_variables_of_the_checks_stay_variables(self):
        self.have_model()
        code, said = self.run_it(HEARTH_DEVICE="gpu", HEARTH_MODE="exact", HEARTH_ASSUME_RAM_GB="3")
        self.assertEqual(code, 0, said)
        for flag in ("--device", "--mode", "--assume-ram-gb"):
            self.assertNotIn(flag, said["doctor"])

    def test_help_and_version_come_before_checks_and_download(self):
        for role, word, answer in (
            ("gpu_worker", "--help", ("worker", "--help")),
            ("all_in_one", "--help", ("serve", "--help")),
            ("all_in_one", "--version", ("worker", "--version")),
        ):
            code, said = self.run_it("--mode", "fast", word, HEARTH_ROLE=role)
            self.assertEqual((code, said), (0, dict([answer])), (role, word))

    def test_a_stop_ends_the_download(self):
        self.program("downloader/bin/python3", 'touch "$FAKE_MODEL/began"; exec sleep 60')
        self.program("bin/id", "echo 990")
        process = subprocess.Popen(
            ["bash", ENTRYPOINT],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={
                "PATH": os.environ["PATH"],
                "GLM53_ROOT": self.root,
                "FAKE_MODEL": self.model,
                "GLM53_MODEL_DIR": self.model,
                "HEARTH_HOME_DIR": self.home,
                "HEARTH_ROLE": "gpu_worker",
            },
        )
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 20
        while not os.path.exists(os.path.join(self.model, "began")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.terminate()
        self.assertEqual(process.wait(timeout=10), 143)

    def test_other_commands_run_as_they_are(self):
        code, said = self.run_it("echo", "hello", "there")
        self.assertEqual((code, said["hello"]), (0, "there"))
        self.assertNotIn("doctor", said)


if __name__ == "__main__":
    unittest.main()
