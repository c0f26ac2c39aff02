"""Documents that are made from the code say what the code says."""

import pathlib
import re
import subprocess
import unittest

from harness import BIN, ROOT

# Docker's, the system's, OpenSSL's and gRPC's words.
SAID_BY_OTHERS = (
    "bind source path does not exist: /run/hearth",
    "cannot be opened: Permission denied",
    "certificate verify failed",
    "error setting rlimit type 8",
    "Peer name .. is not in peer certificate",
    "Socket closed",
    "wrong version number",
)


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

    def test_the_symptoms_of_troubleshooting_md_are_what_the_code_prints(self):
        folders = ("common", "cpu_tier", "deploy", "gateway", "gpu_worker", "kernels", "scripts", "tools")
        files = [path for folder in folders for path in pathlib.Path(ROOT, folder).rglob("*") if path.is_file()]
        kinds = (".cc", ".h", ".cu", ".py", ".sh", ".yaml", ".yml")
        code = "".join(path.read_text() for path in files if path.suffix in kinds)
        code = re.sub(r'"\s*\n\s*f?"', "", code).replace('\\"', '"')  # literals that go on in the next line
        document = pathlib.Path(ROOT, "docs/troubleshooting.md").read_text()
        cells = [line.split(" | ")[0] for line in document.splitlines() if line.startswith("| ")]
        symptoms = [symptom for cell in cells for symptom in re.findall("`([^`]+)`", cell)]
        self.assertGreater(len(symptoms), 30)
        for symptom in symptoms:
            if symptom in SAID_BY_OTHERS:
                continue
            # ".." stands for what differs from time to time, and so do N and M; doctor puts a check's name first.
            words = re.sub(r"^(REFUSED|warning) (\w+)", r"\1..\2..", symptom)
            for part in re.split(r"\.\.|\b[NM]\b", words):
                self.assertTrue(part.strip(" :,") in code, f"{part!r} of {symptom!r}")


if __name__ == "__main__":
    unittest.main()
