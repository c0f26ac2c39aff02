"""A worker without a model: answers as it is told, so that states and loads can be had that the real one passes
through too quickly. Its messages are made from proto/ by grpcio-tools; nothing generated is kept.

As a program it serves until it is killed:
    python fake_worker.py ADDRESS [--tokens-per-second N] [--state ready|loading|draining]
"""

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time

import grpc
import grpc.aio
from grpc_tools import protoc

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STATES = {"loading": 1, "ready": 2, "draining": 3}


def engine_modules():
    """-> the modules engine_pb2 and engine_pb2_grpc."""
    with tempfile.TemporaryDirectory(prefix="hearth-test.") as out:
        code = protoc.main(
            [
                "",
                f"--proto_path={ROOT}/proto",
                f"--python_out={out}",
                f"--grpc_python_out={out}",
                "hearth/v1/engine.proto",
            ]
        )
        if code:
            raise RuntimeError(f"protoc ended with {code}")
        sys.path.insert(0, out)
        try:
            from hearth.v1 import engine_pb2, engine_pb2_grpc
        finally:
            sys.path.remove(out)
    return engine_pb2, engine_pb2_grpc


def make_servicer(pb, pb_grpc, state, tokens_per_second, token_ids, send_times):
    class Engine(pb_grpc.EngineServicer):
        running = 0
        sent = 0

        async def GetModelInfo(self, request, context):
            info = pb.ModelInfo(state=STATES[state], load=pb.LoadProgress(ratio=0.25, bytes_done=1, bytes_total=4))
            if state == "ready":
                info.MergeFrom(
                    pb.ModelInfo(
                        model_dir=f"{ROOT}/models/hearth-tiny",
                        fingerprint="fake",
                        vocab_size=4096,
                        max_model_len=8192,
                        eos_ids=[0],
                        default_temperature=1,
                        default_top_p=1,
                        mode="fast",
                        backend="fake",
                        max_running=1024,
                        max_queue=1024,
                        kv_pool_tokens=1 << 20,
                        chunk_size=1024,
                        kv_type="f32",
                        version="fake",
                    )
                )
            return info

        async def GetStats(self, request, context):
            return pb.EngineStats(requests_running=self.running, state=STATES[state], completion_tokens_total=self.sent)

        async def Generate(self, request, context):
            if state != "ready":
                await context.abort(grpc.StatusCode.UNAVAILABLE, state)
            self.running += 1
            try:
                yield pb.GenerateResponse(accepted=pb.Accepted(seed=1))
                clock = asyncio.get_running_loop().time
                begin, wanted = clock(), request.max_tokens or 100
                for i in range(wanted):
                    # By the clock, so that a late token does not delay the ones after it.
                    await asyncio.sleep(max(0, begin + i / tokens_per_second - clock()))
                    token = pb.Token(id=token_ids[i % len(token_ids)])
                    if send_times:
                        send_times.write(f"{request.request_id} {i} {time.monotonic()}\n")
                    yield pb.GenerateResponse(tokens=pb.TokenChunk(tokens=[token]))
                    self.sent += 1
                usage = pb.Usage(prompt_tokens=len(request.prompt_ids), completion_tokens=wanted)
                yield pb.GenerateResponse(finished=pb.Finished(reason=pb.FINISH_REASON_LENGTH, usage=usage))
            finally:
                self.running -= 1

    return Engine()


async def serve(address, state, tokens_per_second, token_ids, send_times):
    pb, pb_grpc = engine_modules()
    server = grpc.aio.server()
    engine = make_servicer(pb, pb_grpc, state, tokens_per_second, token_ids, send_times)
    pb_grpc.add_EngineServicer_to_server(engine, server)
    server.add_insecure_port(address)
    await server.start()
    await server.wait_for_termination()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="HOST:PORT or unix:PATH")
    parser.add_argument("--tokens-per-second", type=float, default=30, help="of each stream")
    parser.add_argument("--state", choices=STATES, default="ready")
    parser.add_argument("--send-times", help="file for lines of request id, number of the token, monotonic seconds")
    parser.add_argument("--tokens", default="300,301,302,303", help="ids that are sent in turn")
    options = parser.parse_args()
    ids = [int(t) for t in options.tokens.split(",")]
    with open(options.send_times, "w") if options.send_times else contextlib.nullcontext() as send_times:
        asyncio.run(serve(options.address, options.state, options.tokens_per_second, ids, send_times))


if __name__ == "__main__":
    main()
