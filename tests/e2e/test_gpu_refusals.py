"""A GPU that cannot be used: refused in one line that says what would help, or, by default, the CPU with a loud warning.

Runs anywhere; what a machine cannot show is skipped with its reason. HEARTH_OTHER_ARCH_WORKER names a worker without
machine code for this machine's GPU.
"""

import contextlib
import ctypes
import os
import subprocess
import sys
import unittest

from harness import BIN, MODEL, ROOT, Server
from refusing import RefusalCase

REAL_SHAPE = "synthetic:" + os.path.join(ROOT, "tools", "synthetic", "real_shape_flat.json")
HIDDEN = {"CUDA_VISIBLE_DEVICES": ""}


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


def gpus():
    with contextlib.suppress(OSError):
        cuda, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
        if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
            return count.value
    return 0


def built_with_cuda():
    done = subprocess.run([f"{BIN}/hearth-gpu-worker", "-m", "/nothing", "--device", "cuda", "--metrics-port", "0",
                           "--grpc-listen", "unix:/tmp/none"], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, **HIDDEN))
    return "this build has no CUDA" not in done.stderr


DRIVER, GPUS, CUDA = has_driver(), gpus(), built_with_cuda()


@contextlib.contextmanager
def vram_taken(test, mib_left):
    """The GPU's memory taken by another process but for so much."""
    holder = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(__file__), "hold_vram.py"), str(mib_left)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        left = holder.stdout.readline().strip()
        test.assertTrue(left, "the helper could not take the memory")
        print(f"another process left {left} MiB", file=sys.stderr)
        yield
    finally:
        holder.stdin.close()
        holder.wait(timeout=60)
        holder.stdout.close()


class GpuRefusals(RefusalCase):
    def refuse_gpu(self, model, names, *flags, **where):
        done = self.refuse_worker(model, names, "--device", "cuda", *flags, **where)
        self.assertEqual(done.returncode, 2)
        print(done.stderr.strip().split("\n")[-1], file=sys.stderr)

    def serves_on_the_cpu(self, reason, env):
        """The default device: the worker serves, and its log says loudly why it computes on the CPU."""
        with Server(tier=False, env=env, worker_flags=("--device", "auto", "--cpu-lane", "never")) as server:
            log = server.log("worker")
            warning = [line for line in log.splitlines() if "no_gpu" in line]
            self.assertEqual(len(warning), 1, log)
            self.assertIn(" warning ", warning[0])
            self.assertIn("computing on the CPU, slowly", warning[0])
            self.assertIn(reason, warning[0])
            self.assertIn("content", server.post("/v1/chat/completions", server.chat("Hello!"))["choices"][0]["message"])

    @unittest.skipIf(CUDA, "this build has CUDA")
    def test_build_without_cuda(self):
        self.refuse_gpu(MODEL, ["--device is cuda", "this build has no CUDA", "--device host"])

    @unittest.skipUnless(CUDA and not DRIVER, "needs a build with CUDA and no driver")
    def test_no_driver(self):
        self.refuse_gpu(MODEL, ["--device is cuda", "driver is absent or older", "install or update it"])

    @unittest.skipUnless(CUDA and not DRIVER, "needs a build with CUDA and no driver")
    def test_no_driver_by_default_serves_on_the_cpu(self):
        self.serves_on_the_cpu("driver is absent or older", {})

    @unittest.skipUnless(CUDA and DRIVER, "needs a build with CUDA and a driver")
    def test_no_gpu(self):
        self.refuse_gpu(MODEL, ["--device is cuda", "there is no NVIDIA GPU", "--device host"], env=HIDDEN)

    @unittest.skipUnless(CUDA and DRIVER, "needs a build with CUDA and a driver")
    def test_no_gpu_by_default_serves_on_the_cpu(self):
        self.serves_on_the_cpu("there is no NVIDIA GPU", HIDDEN)

    @unittest.skipUnless(CUDA and GPUS, "needs a build with CUDA and a GPU")
    def test_memory_taken_by_another_process(self):
        with vram_taken(self, 4096):
            self.refuse_gpu(REAL_SHAPE, ["device memory: need", "context", "dense weights", "expert slots", "have"],
                            "--assume-ram-gb", "130")

    @unittest.skipUnless(CUDA and GPUS, "needs a build with CUDA and a GPU")
    def test_no_memory_left_for_a_context(self):
        with vram_taken(self, 16):
            self.refuse_gpu(MODEL, ["--device is cuda", "no memory left", "nvidia-smi", "--device host"])

    @unittest.skipUnless(CUDA and GPUS, "needs a build with CUDA and a GPU")
    def test_no_memory_left_by_default_serves_on_the_cpu(self):
        with vram_taken(self, 16):
            self.serves_on_the_cpu("no memory left", {})

    @unittest.skipUnless(GPUS, "needs a GPU")
    def test_other_architecture(self):
        worker = os.environ.get("HEARTH_OTHER_ARCH_WORKER")
        if not worker:
            self.skipTest("HEARTH_OTHER_ARCH_WORKER names no worker of another architecture")
        self.refuse_gpu(MODEL, ["--device is cuda", "no machine code for", "HEARTH_CUDA_ARCHITECTURES"],
                        binary=os.path.abspath(worker))


if __name__ == "__main__":
    unittest.main()
