"""scripts/install_home_mount.sh with stand-ins for what needs root. Standard library only."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "scripts", "install_home_mount.sh")


class HomeMount(unittest.TestCase):
    def setUp(self):
        self.bin = tempfile.mkdtemp(prefix="hearth-test.")
        self.addCleanup(shutil.rmtree, self.bin)
        # We are root here, `gpu` has a group of another name, and 990 is known to nobody.
        self.program("id", 'case $* in -u) echo 0 ;; "-u gpu") echo 1001 ;; "-g gpu") echo 2002 ;; *) exit 1 ;; esac')
        self.program("mountpoint", "exit 1")
        self.program("mount", 'echo "mount $*"')
        for name in ("mkdir", "findmnt", "systemctl"):
            self.program(name, "exit 0")

    def program(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w") as f:
            f.write(f"#!/bin/bash\n{text}\n")
        os.chmod(path, 0o755)

    def run_it(self, *args):
        done = subprocess.run(
            ["bash", SCRIPT, *args],
            capture_output=True,
            text=True,
            timeout=20,
            env={"PATH": f"{self.bin}:{os.environ['PATH']}"},
        )
        return done.returncode, done.stdout + done.stderr

    @unittest.skipIf(os.path.isdir("/run/systemd/system"), "systemd runs here: it would write a unit")
    def test_the_group_is_that_of_the_user(self):
        self.assertIn("uid=gpu,gid=2002,", self.run_it("--user", "gpu")[1])
        code, said = self.run_it("--size", "7")
        self.assertEqual(code, 0, said)
        self.assertIn("size=7g,mode=0770,uid=990,gid=990,", said)

    def test_refuses_what_is_no_size_and_no_user(self):
        for args in (("--size",), ("--user",), ("--size", "0"), ("--size", "00"), ("--size", "-1"), ("--size", "1.5")):
            code, said = self.run_it(*args)
            self.assertEqual(code, 2, (args, said))
            self.assertTrue(said.startswith("install_home_mount: "), said)
        self.assertEqual(self.run_it("--user", "nobody-of-this-name")[0], 2)


if __name__ == "__main__":
    unittest.main()
