"""systemd units and shell scripts of deploy/ are well-formed. Standard library only."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SYSTEMD = os.path.join(ROOT, "deploy", "systemd")


class Units(unittest.TestCase):
    def test_systemd_accepts_them(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze; apt-get install systemd")
        with tempfile.TemporaryDirectory(prefix="hearth-test.") as folder:
            for path in glob.glob(f"{SYSTEMD}/*.service") + glob.glob(f"{SYSTEMD}/*.mount"):
                with open(path) as f:
                    # The programs need not be installed to judge the units.
                    text = re.sub(r"/opt/hearth/bin/hearth-[\w-]+", "/bin/true", f.read())
                with open(os.path.join(folder, os.path.basename(path)), "w") as f:
                    f.write(text)
            units = sorted(glob.glob(f"{folder}/*"))
            self.assertEqual(len(units), 4)
            done = subprocess.run(
                ["systemd-analyze", "verify", *units],
                capture_output=True,
                text=True,
                timeout=60,
                env={**os.environ, "SYSTEMD_UNIT_PATH": folder + ":"},
            )
        ours = [line for line in (done.stdout + done.stderr).splitlines() if "hearth" in line]
        self.assertEqual(ours, [])

    def test_every_service_has_limits_restart_and_no_root(self):
        for path in glob.glob(f"{SYSTEMD}/*.service"):
            with open(path) as f:
                text = f.read()
            for line in (
                "User=hearth",
                "Restart=on-failure",
                "MemoryMax=",
                "TasksMax=",
                "NoNewPrivileges=yes",
                "TimeoutStopSec=",
                "StartLimitBurst=",
            ):
                self.assertIn(line, text, path)

    def test_the_worker_may_write_its_record(self):
        with open(f"{SYSTEMD}/hearth-gpu-worker.service") as f:
            text = f.read()
        folder = re.search(r"^StateDirectory=(\w+)$", text, re.M).group(1)
        self.assertRegex(text, rf"(?m)^Environment=HEARTH_POPULARITY=/var/lib/{folder}/[\w.-]+$")

    def test_shell_scripts_parse(self):
        scripts = (
            glob.glob(f"{ROOT}/deploy/images/*.sh")
            + glob.glob(f"{ROOT}/scripts/*.sh")
            + glob.glob(f"{ROOT}/tests/containers/*.sh")
        )
        self.assertGreater(len(scripts), 10)
        for path in scripts:
            done = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
