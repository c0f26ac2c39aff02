"""Documents that are made from the code say what the code says."""

import subprocess
import unittest

from harness import BIN, ROOT


class Documents(unittest.TestCase):
    def make_docs(self, *words):
        done = subprocess.run([f"{ROOT}/scripts/make_docs.sh", *words], capture_output=True, text=True, cwd=ROOT)
        return done.returncode, done.stdout, done.stderr

    def test_config_md_is_not_stale(self):
        code, out, errors = self.make_docs(BIN, "--check")
        self.assertEqual(code, 0, out + errors)

    def test_a_wrong_command_line_is_told_in_a_line(self):
        code, out, errors = self.make_docs("--help")
        self.assertEqual((code, errors), (0, ""))
        self.assertIn("scripts/make_docs.sh [BIN_DIR] [--check]", out)
        for words, said in (
            (["--what"], "make_docs: no option --what; there is --check\n"),
            (["/nowhere"], "make_docs: no hearth-gateway in /nowhere; run scripts/build.sh release\n"),
            ([BIN, "/more"], "make_docs: one folder of binaries, not also /more\n"),
        ):
            self.assertEqual(self.make_docs(*words, "--check"), (2, "", said))


if __name__ == "__main__":
    unittest.main()
