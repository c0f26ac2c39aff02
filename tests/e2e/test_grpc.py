"""A gRPC client in Python, from PyPI packages alone, finds the services by reflection and streams a generation.

Needs grpcio, grpcio-reflection and protobuf (scripts/test.sh puts them into a virtual environment).
"""

import signal
import time
import unittest

try:
    import grpc
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
except ImportError as error:
    raise unittest.SkipTest(f"the Python gRPC packages are not installed: {error}")

from harness import Server, ServerTest, panel, wait_for


class Client:
    def client(self, address, service):
        # Without the probe, 64 KiB go through unread, however fast the path is.
        channel = grpc.insecure_channel(address, [("grpc.http2.bdp_probe", 0)])
        self.addCleanup(channel.close)
        database = ProtoReflectionDescriptorDatabase(channel)
        return channel, database, DescriptorPool(database).FindServiceByName(service) if service else None

    def call(self, channel, service, method, fields, stream):
        m = service.FindMethodByName(method)
        request = GetMessageClass(m.input_type)(**fields)
        kind = channel.unary_stream if stream else channel.unary_unary
        return kind(f"/{service.full_name}/{method}", request_serializer=lambda r: r.SerializeToString(),
                    response_deserializer=GetMessageClass(m.output_type).FromString)(request, timeout=60)


class Reflection(Client, ServerTest):
    def test_services_are_listed(self):
        _, database, _ = self.client(self.server.worker_address, None)
        self.assertLessEqual({"hearth.v1.Engine", "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"},
                             set(database.get_services()))
        _, database, _ = self.client(self.server.tier_address, None)
        self.assertLessEqual({"hearth.v1.CpuTier", "grpc.health.v1.Health"}, set(database.get_services()))

    def test_a_generation_streams(self):
        item = panel()["hello"]
        channel, _, engine = self.client(self.server.worker_address, "hearth.v1.Engine")
        events = list(self.call(channel, engine, "Generate",
                                {"prompt_ids": item["tokens"][: item["prompt_len"]], "sampling": {"temperature": 0}}, True))
        kinds = [e.WhichOneof("event") for e in events]
        self.assertEqual(kinds[0], "accepted")
        self.assertEqual(kinds[-1], "finished")
        self.assertEqual(set(kinds[1:-1]), {"tokens"})
        tokens = [t.id for e in events for t in e.tokens.tokens] + [events[-1].finished.stop_id]
        self.assertEqual(tokens, item["greedy"])

    def test_errors_carry_status_codes(self):
        channel, _, engine = self.client(self.server.worker_address, "hearth.v1.Engine")
        for fields, code in (({}, grpc.StatusCode.INVALID_ARGUMENT),
                             ({"prompt_ids": [1] * 9000}, grpc.StatusCode.FAILED_PRECONDITION),
                             ({"prompt_ids": [70000]}, grpc.StatusCode.INVALID_ARGUMENT),
                             ({"prompt_ids": [1], "sampling": {"temperature": -1}}, grpc.StatusCode.INVALID_ARGUMENT)):
            with self.assertRaises(grpc.RpcError) as caught:
                list(self.call(channel, engine, "Generate", fields, True))
            self.assertEqual(caught.exception.code(), code, fields)

    def test_verify_finds_cache_and_home_equal(self):
        channel, _, engine = self.client(self.server.worker_address, "hearth.v1.Engine")
        self.server.post("/v1/chat/completions", self.server.chat("Hello!"))
        answer = self.call(channel, engine, "Verify", {}, False)
        self.assertGreater(answer.compared, 0)
        self.assertEqual(answer.different, 0)

    def test_flags_tell_what_auto_came_to(self):
        channel, _, engine = self.client(self.server.worker_address, "hearth.v1.Engine")
        info = self.call(channel, engine, "GetModelInfo", {}, False)
        settled = {"backend": info.backend, "chunk-size": str(info.chunk_size), "kv-type": info.kv_type,
                   "device": "cuda" if info.backend == "cuda" else "host"}
        self.assertEqual({name: info.flags[name] for name in settled}, settled)

    def test_the_tier_passes_its_self_test(self):
        channel, _, tier = self.client(self.server.tier_address, "hearth.v1.CpuTier")
        self.assertTrue(self.call(channel, tier, "SelfTest", {}, False).passed)


class Draining(Client, unittest.TestCase):
    def test_health_says_so_at_once(self):
        with Server(tier=False) as server:
            channel, _, engine = self.client(server.worker_address, "hearth.v1.Engine")
            check = channel.unary_unary("/grpc.health.v1.Health/Check")  # as bytes: reflection does not tell its messages
            wait_for(lambda: check(b"", timeout=10) == b"\x08\x01", 10, "SERVING")
            self.call(channel, engine, "Drain", {}, False)
            self.assertEqual(check(b"", timeout=10), b"\x08\x02", "NOT_SERVING")

    def test_a_slow_reader_gets_the_drain_timeout(self):
        with Server(tier=False) as server:
            channel, _, engine = self.client(server.worker_address, "hearth.v1.Engine")
            # Fits the worker's outbox, but not what goes through unread.
            stream = self.call(channel, engine, "Generate",
                               {"prompt_ids": [1], "max_tokens": 1000, "top_logprobs": 20}, True)
            next(stream)
            wait_for(lambda: "decode_s" in server.log("worker"), 60, "all is computed, though not read")
            server.processes["worker"].send_signal(signal.SIGTERM)
            time.sleep(4)  # longer than what the server's shutdown itself leaves to a stream
            self.assertEqual([e.WhichOneof("event") for e in stream][-1], "finished")
            self.assertEqual(server.processes["worker"].wait(timeout=10), 0)
            self.assertNotIn("cut", server.log("worker"))


if __name__ == "__main__":
    unittest.main()
