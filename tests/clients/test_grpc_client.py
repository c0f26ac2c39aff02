"""A gRPC client in Python with stubs generated from proto/: generation, cancellation, scoring, states."""

import unittest

import grpc
from support import ClientTest, idle, panel, wait_for

try:
    from fake_worker import engine_modules
except ImportError as error:
    raise unittest.SkipTest(f"grpcio-tools is not installed: {error}")


class Stubs(ClientTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pb, services = engine_modules()
        cls.channel = grpc.insecure_channel(cls.server.worker_address)
        cls.engine = services.EngineStub(cls.channel)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        super().tearDownClass()

    def request(self, name, **fields):
        item = panel()[name]
        sampling = self.pb.SamplingParams(temperature=0)
        return self.pb.GenerateRequest(
            **{"prompt_ids": item["tokens"][: item["prompt_len"]], "sampling": sampling, **fields}
        )

    def test_a_generation_with_logprobs(self):
        events = list(self.engine.Generate(self.request("hello", top_logprobs=2), timeout=60))
        tokens = [t for e in events for t in e.tokens.tokens]
        self.assertEqual([t.id for t in tokens] + [events[-1].finished.stop_id], panel()["hello"]["greedy"])
        for token in tokens:
            self.assertEqual(len(token.top), 2)
            self.assertEqual(token.top[0].id, token.id)
            self.assertEqual(token.top[0].logprob, token.logprob)
        usage = events[-1].finished.usage
        self.assertEqual(usage.completion_tokens, len(tokens) + 1)

    def test_cancelling_frees_the_worker(self):
        call = self.engine.Generate(self.request("essay", max_tokens=4000, ignore_eos=True))
        for _ in zip(range(5), call):
            pass
        wait_for(lambda: self.engine.GetStats(self.pb.GetStatsRequest()).requests_running == 1, 5, "it runs")
        call.cancel()
        wait_for(lambda: idle(self.server.stats()), 1, "the generation has ended")

    def test_a_deadline_ends_a_generation(self):
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.engine.Generate(self.request("essay", max_tokens=8000, ignore_eos=True), timeout=0.3))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        wait_for(lambda: idle(self.server.stats()), 1, "the generation has ended")

    def test_scores_agree_with_the_gateway(self):
        ids = panel()["hello"]["tokens"]
        rows = [
            r for block in self.engine.Score(self.pb.ScoreRequest(ids=ids, top_k=1), timeout=60) for r in block.rows
        ]
        self.assertEqual([r.row for r in rows], list(range(len(ids))))
        meta = self.server.post(
            "/generate",
            {
                "input_ids": ids,
                "sampling_params": {"max_new_tokens": 0},
                "return_logprob": True,
                "logprob_start_len": 0,
            },
        )["meta_info"]
        over_http = [entry[0] for entry in meta["input_token_logprobs"][1:]]
        for row, logprob in zip(rows, over_http):
            self.assertAlmostEqual(row.next_logprob, logprob, places=4)

    def test_model_info(self):
        info = self.engine.GetModelInfo(self.pb.GetModelInfoRequest())
        self.assertEqual(info.state, self.pb.WORKER_STATE_READY)
        self.assertEqual(info.max_model_len, 8192)


if __name__ == "__main__":
    unittest.main()
