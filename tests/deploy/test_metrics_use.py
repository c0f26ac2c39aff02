"""Dashboard, alerts and docs/metrics.md name metrics that exist. Standard library only."""

import glob
import json
import os
import re
import shutil
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROMETHEUS = os.path.join(ROOT, "deploy", "compose", "prometheus")
DASHBOARD = os.path.join(ROOT, "deploy", "compose", "grafana", "dashboards", "hearth.json")


def read(*parts):
    with open(os.path.join(*parts)) as f:
        return f.read()


def golden_types():
    """-> {name: type} over the goldens of all processes"""
    types = {}
    for path in glob.glob(os.path.join(ROOT, "tests", "golden", "metrics_*.txt")):
        for line in read(path).splitlines():
            match = re.match(r"(hearth_\w+) (counter|gauge|histogram)\b", line)
            if match:
                types[match.group(1)] = match.group(2)
    return types


def series_of(types):
    names = set(types)
    for name, kind in types.items():
        if kind == "histogram":
            names |= {f"{name}_bucket", f"{name}_sum", f"{name}_count"}
    return names


class MetricsUse(unittest.TestCase):
    def setUp(self):
        self.types = golden_types()
        self.series = series_of(self.types)

    def test_the_dashboard_shows_only_metrics_that_exist_and_all_kinds(self):
        dashboard = json.loads(read(DASHBOARD))
        expressions = [t["expr"] for panel in dashboard["panels"] for t in panel.get("targets", [])]
        named = set(re.findall(r"hearth_\w+", " ".join(expressions)))
        self.assertEqual(named - self.series, set())
        shown = {re.sub("_bucket$", "", name) for name in named}
        # What need not be on it: labels of the build, and details of the CPU tier.
        left_out = {name for name in self.types if name not in shown}
        self.assertEqual(
            left_out,
            {
                "hearth_build_info",
                "hearth_cpu_tier_abandoned_total",
                "hearth_cpu_tier_refused_total",
                "hearth_cpu_tier_rows_total",
                "hearth_cpu_tier_first_after_idle_total",
                "hearth_cpu_tier_wanted",
            },
        )
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_the_alerts_use_metrics_that_exist(self):
        text = read(PROMETHEUS, "alerts.yml")
        expressions = re.findall(r"expr: (.*)", text)
        self.assertGreaterEqual(len(expressions), 8)
        self.assertEqual(set(re.findall(r"hearth_\w+", " ".join(expressions))) - self.series, set())
        tested = read(PROMETHEUS, "alerts_test.yml")
        for alert in re.findall(r"alert: (\w+)", text):
            self.assertGreaterEqual(tested.count(alert), 2, f"{alert} is tested silent and firing")

    def test_promtool_accepts_configuration_and_alerts(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("no promtool; apt-get install prometheus")
        for words in (["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]):
            done = subprocess.run([promtool, *words], cwd=PROMETHEUS, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_document_lists_every_metric_with_its_type(self):
        documented = dict(re.findall(r"^\| `(hearth_\w+)`[^|]*\| (\w+) \|", read(ROOT, "docs", "metrics.md"), re.M))
        self.assertEqual(documented, self.types)


if __name__ == "__main__":
    unittest.main()
