"""Stage real of scripts/gpu_check.sh with stand-ins for engine_bench and for what needs root. Standard library only."""

import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACES = ("/run/hearth", "/dev/shm")


def homes():
    """Those in RAM that a run may have left behind."""
    return {home for place in PLACES for home in glob.glob(f"{place}/hearth-gpu-home.*")}


class Real(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hearth-test.")
        self.addCleanup(shutil.rmtree, self.folder)
        self.program("mount", 'echo "mount: permission denied" >&2; exit 32')
        # Leaves a home behind, as the real one does.
        self.engine = """while [ $# -gt 1 ]; do [ "$1" = --home-dir ] && home=$2; shift; done
echo "home in $home"
echo x >"${home:?}/hearth-home-1"
echo "  home 1 GB adopted, wanted 0.39"
"""
        self.program("bench/engine_bench", self.engine)

    def program(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(f"#!/bin/bash\n{text}\n")
        os.chmod(path, 0o755)

    def run_it(self):
        done = subprocess.run(
            ["bash", os.path.join(ROOT, "scripts", "gpu_check.sh"), "real"],
            capture_output=True,
            text=True,
            timeout=60,
            env={
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "TMPDIR": self.folder,
                "HEARTH_GPU_BIN": self.folder,
                "HEARTH_GPU_LOGS": os.path.join(self.folder, "logs"),
            },
        )
        return done.returncode, done.stdout + done.stderr

    def test_without_root_the_home_lies_in_a_folder_that_goes_again(self):
        before = homes()
        code, said = self.run_it()
        self.assertEqual(code, 0, said)
        used = set(re.findall(r"^home in (\S+)$", said, re.M))
        self.assertEqual(len(used), 1, said)
        (home,) = used
        self.assertTrue(home.startswith(tuple(f"{place}/hearth-gpu-home." for place in PLACES)), home)
        self.assertIn(f"no tmpfs may be mounted here (mount: permission denied); the home lies in {home}", said)
        self.assertEqual(homes(), before)

    def test_a_stage_that_is_ended_leaves_no_home(self):
        self.program("bench/engine_bench", self.engine + "kill -TERM $(ps -o ppid= -p $PPID)")
        before = homes()
        code, said = self.run_it()
        self.assertEqual(code, -signal.SIGTERM, said)
        self.assertEqual(homes(), before)

    def test_a_mounted_home_is_unmounted(self):
        log = os.path.join(self.folder, "mounts")
        for name in ("mount", "umount"):
            self.program(name, f'echo "{name} ${{*: -1}}" >>{log}')
        self.program("umount", f'echo "umount $1" >>{log}; rm -f "$1"/*')
        before = homes()
        code, said = self.run_it()
        self.assertEqual(code, 0, said)
        with open(log) as f:
            mounts = f.read().split()
        self.assertEqual((mounts[0], mounts[2], mounts[1]), ("mount", "umount", mounts[3]))
        self.assertFalse(os.path.exists(mounts[1]))
        self.assertEqual(homes(), before)

    def test_what_engine_bench_finds_wrong_fails_the_stage(self):
        self.program("bench/engine_bench", self.engine + 'echo "engine_bench: FAILED: fast1: skipped" >&2; exit 1')
        code, said = self.run_it()
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"real +engine_bench +FAILED")


if __name__ == "__main__":
    unittest.main()
