"""Takes the memory of the first GPU but for a rest, prints how much is left in MiB, and holds it until standard input ends.

  hold_vram.py MIB_LEFT

Through the driver's own library, so nothing but a driver is needed. Exit status 77: no driver, or no GPU.
"""

import ctypes
import sys

OUT_OF_MEMORY = 2


def main():
    left = int(sys.argv[1]) << 20
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        print(f"SKIPPED: {error}", file=sys.stderr)
        return 77

    def call(name, *arguments, allowed=()):
        code = getattr(cuda, name)(*arguments)
        if code not in (0, *allowed):
            raise SystemExit(f"{name}: error {code}")
        return code

    if cuda.cuInit(0) != 0:
        print("SKIPPED: no GPU", file=sys.stderr)
        return 77
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)

    def free():
        rest, total = ctypes.c_size_t(), ctypes.c_size_t()
        call("cuMemGetInfo_v2", ctypes.byref(rest), ctypes.byref(total))
        return rest.value

    # Coarse pieces first; what is reported as free is not all to be had.
    piece = 1 << 32
    while piece >= 2 << 20:
        pointer = ctypes.c_uint64()
        if free() < left + piece or call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(piece),
                                         allowed=(OUT_OF_MEMORY,)):
            piece //= 2
    print(free() >> 20, flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
