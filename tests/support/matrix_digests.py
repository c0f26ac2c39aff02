#!/usr/bin/env python3
"""Prints what the numpy reference makes of the matrices of a checkpoint (two experts a layer): JSON list of key, in, out (padded) and the
SHA-256 of W as fp32, row-major [out, in].

  matrix_digests.py DIR
"""

import hashlib
import json
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "reference"))
import ref_forward  # noqa: E402


def main():
    source, rows = ref_forward.SafetensorsDir(sys.argv[1]), []
    for name in sorted(source.names()):
        expert = re.search(r"\.experts\.(\d+)\.", name)
        if name.startswith("model.visual.") or expert and int(expert[1]) > 1:
            continue
        if name.endswith(".trellis"):
            key = name[:-len(".trellis")]
            w = ref_forward.exl3_matrix(source, key).T
        elif name.endswith(".weight") and source.get(name).ndim == 2:
            key = name[:-len(".weight")]
            w = source.get(name)
        else:
            continue
        w = np.ascontiguousarray(w.astype("<f4"))
        rows.append({"key": key, "in": w.shape[1], "out": w.shape[0], "sha256": hashlib.sha256(w.tobytes()).hexdigest()})
    json.dump(rows, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
