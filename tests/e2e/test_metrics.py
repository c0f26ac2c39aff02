"""/metrics of each process is valid Prometheus text with the promised names."""

import os
import re
import unittest
import urllib.request

from harness import ROOT, ServerTest

GATEWAY = """hearth_requests_running hearth_request_success_total hearth_request_errors_total hearth_cancelled_total
hearth_prompt_tokens_total hearth_generation_tokens_total hearth_time_to_first_token_seconds
hearth_inter_token_latency_seconds hearth_e2e_request_latency_seconds hearth_worker_up hearth_build_info""".split()
WORKER = """hearth_requests_running hearth_requests_waiting hearth_cancelled_total hearth_prompt_tokens_total
hearth_generation_tokens_total hearth_queue_wait_seconds hearth_decode_step_seconds hearth_expert_cache_hits_total
hearth_expert_cache_misses_total hearth_expert_cache_admissions_total hearth_expert_cache_evictions_total
hearth_expert_cache_slots hearth_expert_cache_slots_lent hearth_expert_bytes_total hearth_lane_busy_seconds_total
hearth_cpu_tier_up hearth_cpu_tier_jobs_total hearth_cpu_tier_experts_total hearth_cpu_tier_timeouts_total
hearth_cpu_tier_wait_seconds hearth_load_progress_ratio hearth_build_info""".split()
TIER_GOLDEN = os.path.join(ROOT, "tests", "golden", "metrics_tier.txt")

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABELS = r'(?:\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)*\})?'
SAMPLE = re.compile(rf"^({NAME}){LABELS} (?:[-+]?(?:[0-9.]+(?:e[-+]?[0-9]+)?|Inf)|NaN)$", re.I)
COMMENT = re.compile(rf"^# (?:HELP {NAME} .*|TYPE ({NAME}) (?:counter|gauge|histogram|summary|untyped))$")


class Metrics(ServerTest):
    def scrape(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
            self.assertIn("text/plain", response.headers["Content-Type"])
            return response.read().decode()

    def families(self, text):
        """Checks every line; -> names of families."""
        typed, sampled = set(), set()
        self.assertTrue(text.endswith("\n"))
        for line in text.splitlines():
            if line.startswith("#"):
                match = COMMENT.match(line)
                self.assertTrue(match, line)
                if match.group(1):
                    self.assertNotIn(match.group(1), typed, "one TYPE per family")
                    typed.add(match.group(1))
            elif line:
                match = SAMPLE.match(line)
                self.assertTrue(match, line)
                sampled.add(re.sub(r"_(?:bucket|sum|count)$", "", match.group(1)) if match.group(1) not in typed
                            else match.group(1))
        self.assertLessEqual(sampled, typed)
        return typed

    def test_every_process_exports_its_names(self):
        self.server.post("/v1/chat/completions", self.server.chat("Hello!"))
        for port, names in ((self.server.port, GATEWAY), (self.server.metrics_ports["worker"], WORKER)):
            families = self.families(self.scrape(port))
            self.assertEqual([n for n in names if n not in families], [], f"missing on port {port}")

    def test_the_cpu_tier_exports_its_golden_list(self):
        text = self.scrape(self.server.metrics_ports["tier"])
        self.families(text)
        have = {}
        for name, kind in re.findall(r"^# TYPE (\S+) (\w+)$", text, re.M):
            pairs = re.findall(rf"^{name}\{{([^}}]*)\}}", text, re.M)
            labels = sorted({pair.split("=")[0] for inside in pairs for pair in inside.split(",")})
            have[name] = f"{name} {kind} {','.join(labels) or '-'}"
        with open(TIER_GOLDEN) as f:
            golden = [line for line in f.read().splitlines() if not line.startswith("#")]
        self.assertEqual(sorted(have.values()), golden)

    def test_counters_count(self):
        def tokens():
            text = self.scrape(self.server.metrics_ports["worker"])
            return float(re.search(r"^hearth_generation_tokens_total (\S+)$", text, re.M).group(1))

        before = tokens()
        usage = self.server.post("/v1/chat/completions", self.server.chat("Hello!"))["usage"]
        self.assertGreaterEqual(tokens() - before, usage["completion_tokens"] - 1)


if __name__ == "__main__":
    unittest.main()
