"""Random checkpoints of odd shapes for transformers_check.py, and what transformers loads in their place."""

import json
import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, "reference"), os.path.join(ROOT, "tests", "support")]
import make_checkpoint  # noqa: E402
import ref_forward  # noqa: E402

KDA, MLA = make_checkpoint.KDA, make_checkpoint.MLA
SHAPES = {
    "plain": ("nothing quantized; unequal head widths, KDA and MLA 2:1",
              {"hidden_size": 264, "layer_types": [KDA, KDA, MLA, KDA, KDA, MLA], "indexer_types": ["full"] * 6,
               "mlp_layer_types": ["dense"] + ["sparse"] * 5, "n_routed_experts": 12, "num_attention_heads": 5,
               "qk_nope_head_dim": 48, "v_head_dim": 56, "moe_intermediate_size": 88, "index_topk": 64,
               "linear": {"num_heads": 3, "head_dim": 40, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0}},
              {"quantize": "none", "fused_qkv": False, "fused_conv": False, "plain_dtypes": ("F16", "BF16", "F32")}),
    "ragged": ("plain widths that nothing divides, two streams, three taps, two shared experts, a binding clamp",
               {"hidden_size": 150, "intermediate_size": 211, "moe_intermediate_size": 53, "q_lora_rank": 37,
                "kv_lora_rank": 43, "qk_nope_head_dim": 18, "v_head_dim": 22, "index_head_dim": 21, "vocab_size": 301,
                "n_routed_experts": 7, "n_shared_experts": 2, "num_experts_per_tok": 4, "swiglu_limit": 0.6,
                "hc_mult": 2, "hc_sinkhorn_iters": 7, "routed_scaling_factor": 1.3, "index_topk": 48, "index_kpool": 2,
                "linear": {"num_heads": 2, "head_dim": 27, "short_conv_kernel_size": 3, "gate_lower_bound": -2.5}},
               {"quantize": "none", "fused_qkv": False, "fused_conv": False, "odd_offset": True}),
    "shared": ("EXL3; pools of two, one layer shares the selection before it, two shared experts, small eps",
               {"index_kpool": 2, "index_topk": 64, "rms_norm_eps": 1e-6, "qk_nope_head_dim": 48, "v_head_dim": 80,
                "layer_types": [KDA, MLA, MLA, MLA, KDA],
                "indexer_types": ["full", "full", "shared", "full", "full"],  # transformers shares once, not twice
                "mlp_layer_types": ["dense", "sparse", "dense", "sparse", "sparse"], "n_shared_experts": 2}, {}),
    "padded": ("EXL3 with padding, separate projections; starts with MLA; 24 experts, 6 picks",
               {"hidden_size": 200, "intermediate_size": 328, "moe_intermediate_size": 72, "q_lora_rank": 56,
                "kv_lora_rank": 40, "qk_nope_head_dim": 24, "v_head_dim": 16, "index_head_dim": 40,
                "layer_types": [MLA, KDA, MLA, KDA, KDA], "indexer_types": ["full"] * 5, "index_topk": 64,
                "mlp_layer_types": ["dense", "sparse", "sparse", "dense", "sparse"], "n_routed_experts": 24,
                "num_experts_per_tok": 6,
                "linear": {"num_heads": 3, "head_dim": 40, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0}},
               {"fused_qkv": False, "fused_conv": False, "odd_offset": True, "shards": 2}),
    "wide": ("EXL3; latents of 512 and heads of 128, as the real model has them",
             {"hidden_size": 512, "kv_lora_rank": 512, "q_lora_rank": 256, "qk_nope_head_dim": 128, "v_head_dim": 128,
              "num_attention_heads": 4, "index_head_dim": 128, "index_n_heads": 32, "index_topk": 64,
              "n_routed_experts": 16, "num_experts_per_tok": 4,
              "linear": {"num_heads": 4, "head_dim": 128, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0}}, {}),
}
# A pool that no indexer head likes scores exactly 0. With few heads many pools do, and transformers leaves open which
# of equal ones it takes; with many heads none does.
INDEX_HEADS = 24
# Any tower will do: no picture is shown. The smallest that transformers builds.
VISION = {"depth": 1, "hidden_size": 32, "num_heads": 2, "intermediate_size": 32, "out_hidden_size": 32,
          "projection_intermediate_size": 32, "image_size": 28, "patch_size": 14}


class Maker(make_checkpoint.Maker):
    """Remembers the size of every matrix, which a padded EXL3 matrix does not tell."""

    def __init__(self, shape, seed):
        what, config, store = SHAPES[shape]
        make_checkpoint.VARIANTS[shape] = (what, {"index_n_heads": INDEX_HEADS, **config}, store)
        self.sizes = {}
        super().__init__(shape, seed)

    def matrix(self, key, n_in, n_out, *args, **how):
        self.sizes[key] = (n_in, n_out)
        super().matrix(key, n_in, n_out, *args, **how)


def expand(maker, directory, out):
    """The checkpoint in fp32 with the tensor names of the original release -> names of the matrices that were EXL3."""
    from safetensors.numpy import save_file
    source = ref_forward.SafetensorsDir(directory)
    tensors, exl3 = {}, set()
    for name in source.names():
        stem, _, field = name.rpartition(".")
        if field == "trellis":
            n_in, n_out = maker.sizes[stem]
            stem, value = f"{stem}.weight", ref_forward.exl3_matrix(source, stem)[:n_in, :n_out].T
        elif f"{stem}.trellis" in source.names() or name.startswith("model.visual."):
            continue
        else:
            stem, value = name, source.get(name)
        parts = {stem: value}
        for fused in ("qkv_proj.weight", "conv1d.weight"):
            if stem.endswith("." + fused):
                each = fused.replace("qkv", "{}") if "qkv" in fused else "{}_" + fused
                parts = {stem[:-len(fused)] + each.format(p): v for p, v in zip("qkv", np.split(value, 3))}
        for key, part in parts.items():
            tensors[key] = np.ascontiguousarray(part, np.float32)
            if field == "trellis":
                exl3.add(key.removesuffix(".weight"))
    os.makedirs(out)
    save_file(tensors, os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
    config = {key: value for key, value in maker.config().items() if key != "quantization_config"}
    config["text_config"] = {**config["text_config"], "pad_token_id": None}  # the default lies outside the vocabulary
    with open(os.path.join(out, "config.json"), "w") as f:
        json.dump({**config, "vision_config": {**VISION, "out_hidden_size": maker.cfg["hidden_size"]}}, f)
    return exl3
