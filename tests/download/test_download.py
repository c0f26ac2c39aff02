"""download-model against a hub that misbehaves: it resumes and ends right, or fails with a clear line.

Needs huggingface_hub (deploy/images/requirements-download.txt); scripts/test_download.sh makes the environment.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from fake_hub import COMMIT, REPO, FakeHub

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "deploy", "images", "download_model.py")
SHARD = "model-00001-of-00002.safetensors"


class Download(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="hearth-test.")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.models = os.path.join(self.dir, "models")

    def run_download(self, hub, *flags, env=None):
        """-> exit code, what it said"""
        environment = {
            **os.environ,
            "HF_ENDPOINT": hub.url,
            "HF_HOME": os.path.join(self.dir, "hf"),
            "HF_HUB_DOWNLOAD_TIMEOUT": "5",
            "HF_HUB_ETAG_TIMEOUT": "5",
            **(env or {}),
        }
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            environment.pop(name, None)
        done = subprocess.run(
            [
                sys.executable,
                PROGRAM,
                "--dir",
                self.models,
                "--repo",
                REPO,
                "--revision",
                COMMIT,
                "--attempts",
                "3",
                "--pause",
                "0.05",
                "--every",
                "0.2",
                *flags,
            ],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
        )
        return done.returncode, done.stderr

    def assert_whole(self, hub):
        for name, data in hub.files.items():
            with open(os.path.join(self.models, name), "rb") as f:
                self.assertEqual(f.read(), data, name)
        self.assertFalse(os.path.exists(os.path.join(self.models, ".hearth-downloading")))
        with open(os.path.join(self.models, ".hearth-download.json")) as f:
            record = json.load(f)
        self.assertEqual((record["repo"], record["revision"], set(record["files"])), (REPO, COMMIT, set(hub.files)))

    def assert_not_served(self):
        """The entrypoint serves only a folder with config.json and without this mark."""
        there = os.path.exists(os.path.join(self.models, "config.json"))
        self.assertTrue(not there or os.path.exists(os.path.join(self.models, ".hearth-downloading")))

    def succeed(self, hub, *flags):
        with hub:
            code, said = self.run_download(hub, *flags)
            self.assertEqual(code, 0, said)
            self.assert_whole(hub)
        return said

    def refuse(self, hub, *words, flags=()):
        with hub:
            code, said = self.run_download(hub, *flags)
        self.assertEqual(code, 2, said)
        last = [line for line in said.splitlines() if line.startswith("download: ERROR: ")]
        self.assertEqual(len(last), 1, said)
        for word in words:
            self.assertIn(word, last[0])
        self.assert_not_served()
        return said

    # ---------------------------------------------------------------- ends right

    def test_a_good_server(self):
        hub = FakeHub()
        said = self.succeed(hub)
        self.assertIn("sizes and hashes as the repository says", said)

    def test_files_come_in_parallel(self):
        hub = FakeHub(faults=[("meet", 20)])
        self.succeed(hub)
        self.assertGreaterEqual(hub.most_running, 2)

    def test_a_second_run_fetches_nothing(self):
        hub = FakeHub()
        with hub:
            self.assertEqual(self.run_download(hub)[0], 0)
            before = sum(1 for verb, path, _ in hub.requests if verb == "GET" and "/resolve/" in path)
            self.assertEqual(self.run_download(hub)[0], 0)
            after = sum(1 for verb, path, _ in hub.requests if verb == "GET" and "/resolve/" in path)
        self.assertEqual(before, after)

    def test_cut_connections_resume(self):
        hub = FakeHub(faults=[("cut", 12_000_000), ("cut", 11_000_000)])
        self.succeed(hub)
        ranges = [r for verb, path, r in hub.requests if verb == "GET" and path.endswith(SHARD) and r]
        self.assertTrue(any(int(r.split("=")[1].split("-")[0]) > 0 for r in ranges), "it went on where it stopped")

    def test_a_killed_download_resumes(self):
        hub = FakeHub(faults=[("slow", 0.05)])
        with hub:
            environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": os.path.join(self.dir, "hf")}
            process = subprocess.Popen(
                [sys.executable, PROGRAM, "--dir", self.models, "--repo", REPO, "--revision", COMMIT],
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for line in process.stderr:
                if "into" in line:
                    break
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(2)
            process.kill()
            process.wait()
            process.stderr.close()
            self.assert_not_served()
            code, said = self.run_download(hub)
            self.assertEqual(code, 0, said)
            self.assert_whole(hub)

    def test_a_server_error_is_tried_again(self):
        self.succeed(FakeHub(faults=[("status", 500)], api_faults=[("status", 500)]))

    def test_too_many_requests_waits_as_told(self):
        hub = FakeHub(api_faults=[("status", 429)], retry_after=1)
        said = self.succeed(hub)
        self.assertIn("next one in 1.0 s", said)

    def test_a_short_file_is_fetched_again(self):
        self.succeed(FakeHub(faults=[("short", 1000)]))

    def test_a_damaged_file_is_found_and_fetched_again(self):
        said = self.succeed(FakeHub(faults=[("flip", 123_456)]))
        self.assertIn(f"{SHARD} has another sha256 than the repository says; removed", said)

    def test_a_damaged_small_file_too(self):
        said = self.succeed(FakeHub(target="tokenizer.json", faults=[("flip", 0)]))
        self.assertIn("tokenizer.json has another git-sha1", said)

    def test_a_slow_server_is_waited_for(self):
        hub = FakeHub(faults=[("slow", 0.01)])
        said = self.succeed(hub)
        self.assertRegex(said, r"of 26\.50 MB, \d+ %, \d+\.\d MB/s")

    # ---------------------------------------------------------------- fails with a clear line

    def test_a_file_that_stays_damaged(self):
        self.refuse(FakeHub(forever=("flip", 5)), SHARD, "sha256", "another HF_ENDPOINT")

    def test_a_file_that_stays_short(self):
        self.refuse(FakeHub(forever=("short", 10)), "attempts in a row failed", "start again to resume")

    def test_a_server_that_keeps_failing(self):
        self.refuse(FakeHub(forever=("status", 500)), "1 attempts in a row failed", "500", flags=("--attempts", "1"))

    def test_an_unknown_revision_and_a_forbidden_repository(self):
        self.refuse(FakeHub(api_faults=[("status", 401)] * 9), "HF_TOKEN")
        self.refuse(FakeHub(api_faults=[("status", 403)] * 9), "HF_TOKEN")

    def test_nobody_listens(self):
        hub = FakeHub()
        with hub:
            pass
        code, said = self.run_download(hub)
        self.assertEqual(code, 2)
        self.assertIn("3 attempts in a row failed", said)
        self.assert_not_served()

    def test_a_disk_that_is_too_small(self):
        said = self.refuse(FakeHub(claimed_bytes=10**15), "free, but 1000001.1 GB are needed", "mount a larger disk")
        self.assertEqual(os.listdir(self.models), [], said)


class Parts(unittest.TestCase):
    def test_a_part_that_is_renamed_meanwhile_is_passed_over(self):
        sys.path.insert(0, os.path.dirname(PROGRAM))
        self.addCleanup(sys.path.remove, os.path.dirname(PROGRAM))
        import download_model

        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            cache = os.path.join(folder, download_model.CACHE)
            os.makedirs(cache)
            with open(os.path.join(cache, "x.abc.incomplete"), "w") as f:
                f.write("1234")
            # Listed, and gone when its size is asked for.
            os.symlink("gone", os.path.join(cache, "y.def.incomplete"))
            found = list(download_model.incomplete_files(folder))
            self.assertEqual([(etag, size) for _, etag, size in found], [("abc", 4)])
            self.assertEqual(download_model.bytes_there(folder, {}), 4)


if __name__ == "__main__":
    unittest.main()
