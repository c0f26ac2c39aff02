"""What tests of refusals share: a process that must end by itself, with a line that names things, and leave nothing."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BIN, SHARED_MEMORY, SLOW


class RefusalCase(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="hearth-test.")
        self.home = tempfile.mkdtemp(prefix="hearth-test.", dir=SHARED_MEMORY)
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.addCleanup(shutil.rmtree, self.home, True)

    def refuse(self, binary, *flags, names, one_line=True, env=None):
        """Runs a process that must refuse; `names` must all be said in its last line. `binary` is a name or a path."""
        done = subprocess.run([os.path.join(BIN, binary), *flags], capture_output=True, text=True, timeout=60 * SLOW,
                              env=dict(os.environ, **(env or {})))
        self.assertNotEqual(done.returncode, 0)
        self.assertGreater(done.returncode, 0, "ended by a signal")
        said = done.stderr.strip().split("\n")[-1] if one_line else done.stderr
        for name in names:
            self.assertIn(name, said)
        return done

    def refuse_worker(self, model, names, *flags, home=None, binary="hearth-gpu-worker", env=None):
        home = home or self.home
        done = self.refuse(binary, "-m", model, "--home-dir", home, "--grpc-listen", f"unix:{self.dir}/w.sock",
                           "--metrics-port", "0", *flags, names=names, env=env)
        left = [f for f in os.listdir(home) if not f.endswith(".lock")] if os.path.isdir(home) else []
        self.assertEqual(left, [], "files left behind")
        self.assertFalse(os.path.exists(f"{self.dir}/w.sock"))
        return done
