"""Documents that are made from the code say what the code says."""

import subprocess
import unittest

from harness import BIN, ROOT


class Documents(unittest.TestCase):
    def test_config_md_is_not_stale(self):
        done = subprocess.run([f"{ROOT}/scripts/make_docs.sh", BIN, "--check"], capture_output=True, text=True, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
