#!/usr/bin/env python3
"""Writes a small random checkpoint of an unusual shape, for tests of the loader and the model graph.

  make_checkpoint.py --variant NAME --out DIR [--seed N]
  make_checkpoint.py --list

Any trellis bits are valid EXL3, so quantized matrices are random bits with scales that keep activations between 0.1
and 10. Every variant loads in reference/ref_forward.py, which therefore gives the right answers for it; only `bias`
has something that the reference does not know (it ignores biases). Needs numpy, nothing else.
"""

import argparse
import json
import os
import struct
import sys

import numpy as np

MARKERS = {"mul1": 0x83DCD12D, "mcg": 0xCBAC1FED}
CODEBOOKS = ("mul1", "mcg", "3inst")
SPREAD = {"mul1": 1.0, "mcg": 1.2441, "3inst": 1.2437}  # standard deviation of the decoded values
KDA, MLA = "linear_attention", "deepseek_sparse_attention"

BASE = {
    "vocab_size": 320, "hidden_size": 256, "intermediate_size": 384, "moe_intermediate_size": 128,
    "layer_types": [KDA, MLA, KDA, MLA], "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"],
    "indexer_types": ["full"] * 4, "rms_norm_eps": 1e-5, "max_position_embeddings": 4096,
    "n_routed_experts": 10, "n_shared_experts": 1, "num_experts_per_tok": 3, "routed_scaling_factor": 2.5,
    "swiglu_limit": 10.0, "num_attention_heads": 3, "q_lora_rank": 128, "kv_lora_rank": 128,
    "qk_nope_head_dim": 64, "v_head_dim": 64, "index_n_heads": 6, "index_head_dim": 64, "index_topk": 16,
    "index_kpool": 4, "hc_mult": 4, "hc_eps": 1e-6, "hc_sinkhorn_iters": 20,
    "linear": {"num_heads": 3, "head_dim": 64, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0},
}
# How tensors are stored. quantize: which matrices are EXL3 ("all", "experts", "none"); the rest are plain.
STORE = {"quantize": "all", "fused_qkv": True, "fused_conv": True, "signs": "none", "bias": False, "shards": 1,
         "side_file": False, "extras": False, "odd_offset": False, "a_log_dims": False, "tied": False,
         "storage_list": True, "quantize_kv_b": False, "quantize_router": False, "mixed_experts": False,
         "plain_dtypes": ("F16", "BF16")}

VARIANTS = {
    "base": ("mixed K and codebooks, fused projections and convolutions, list of stored tensors", {}, {}),
    "odd": ("nothing is a multiple of 128: quantized matrices are padded; odd file offsets",
            {"hidden_size": 200, "intermediate_size": 328, "moe_intermediate_size": 72, "q_lora_rank": 56,
             "kv_lora_rank": 40, "qk_nope_head_dim": 24, "v_head_dim": 16, "index_head_dim": 40, "index_n_heads": 5,
             "linear": {"num_heads": 3, "head_dim": 40, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0}},
            {"odd_offset": True, "shards": 2}),
    "ragged": ("widths that no vector register divides, three taps",
               {"hidden_size": 150, "intermediate_size": 211, "moe_intermediate_size": 53, "q_lora_rank": 37,
                "kv_lora_rank": 43, "qk_nope_head_dim": 18, "v_head_dim": 22, "index_head_dim": 21,
                "vocab_size": 301, "n_routed_experts": 7,
                "linear": {"num_heads": 2, "head_dim": 27, "short_conv_kernel_size": 3, "gate_lower_bound": -5.0}},
               {"odd_offset": True, "fused_qkv": False}),
    "clamp": ("binding clamp, three shared experts, two streams, other gate bound and routing factor",
              {"swiglu_limit": 0.6, "n_shared_experts": 3, "hc_mult": 2, "routed_scaling_factor": 1.3,
               "hc_sinkhorn_iters": 7, "num_experts_per_tok": 4,
               "linear": {"num_heads": 2, "head_dim": 128, "short_conv_kernel_size": 4, "gate_lower_bound": -2.5}},
              {"shards": 2}),
    "pool2": ("pools of two, shared indexers behind an MLA layer, unequal head widths, small eps",
              {"index_kpool": 2, "index_topk": 12, "rms_norm_eps": 1e-6, "qk_nope_head_dim": 48, "v_head_dim": 80,
               "layer_types": [KDA, MLA, MLA, MLA, KDA], "indexer_types": ["full", "full", "shared", "shared", "full"],
               "mlp_layer_types": ["dense", "sparse", "dense", "sparse", "sparse"]}, {}),
    "separate": ("separate q, k, v and convolutions, shards, side file, vision and draft tensors, A_log [1,1,H,1]", {},
                 {"fused_qkv": False, "fused_conv": False, "shards": 3, "side_file": True, "extras": True,
                  "odd_offset": True, "a_log_dims": True}),
    "plain": ("no quantized matrix at all, tied head",
              {"hidden_size": 136, "moe_intermediate_size": 40}, {"quantize": "none", "fused_qkv": False, "tied": True}),
    "plain-f32": ("all plain and in F32, fused projections",
                  {"hidden_size": 128, "n_routed_experts": 5}, {"quantize": "none", "plain_dtypes": ("F32",)}),
    "experts-only": ("routed experts quantized, the rest plain; kv_b and router quantized instead of plain elsewhere",
                     {}, {"quantize": "experts", "fused_qkv": False, "fused_conv": False, "storage_list": False}),
    "mixed": ("quantized kv_b and router; experts of one layer partly plain",
              {}, {"quantize_kv_b": True, "quantize_router": True, "mixed_experts": True, "extras": True}),
    "legacy": ("sign fields su and sv instead of suh and svh", {}, {"signs": "some", "storage_list": False}),
    "bias": ("biases on some projections, F16 and F32", {}, {"bias": True}),
}


class Maker:
    def __init__(self, variant, seed):
        _, shape, store = VARIANTS[variant]
        self.cfg, self.store = {**BASE, **shape}, {**STORE, **store}
        self.rng = np.random.default_rng([seed, sum(map(ord, variant))])
        self.tensors = {}  # name -> (dtype, shape, bytes)
        self.listed = {}
        self.count = 0

    # -- tensors ------------------------------------------------------------------------------------

    def put(self, name, dtype, array):
        if dtype == "BF16":
            bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
            raw = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
        else:
            kind = {"F32": "<f4", "F16": "<f2", "I16": "<i2", "I32": "<i4", "U8": "<u1"}[dtype]
            raw = np.asarray(array).astype(kind).tobytes()
        self.tensors[name] = (dtype, list(np.shape(array)), raw)

    def uniform(self, shape, mean, amp):
        return mean + amp * self.rng.uniform(-1, 1, shape)

    def plain_dtype(self):
        self.count += 1
        choice = self.store["plain_dtypes"]
        return choice[self.count % len(choice)]

    def vector(self, name, shape, mean, amp, dtype=None):
        self.put(name, dtype or self.plain_dtype(), self.uniform(shape, mean, amp))

    def signed(self, count):
        return self.rng.choice([-1.0, 1.0], count) * self.rng.uniform(0.6, 1.4, count)

    def exl3(self, key, n_in, n_out, gain, signs=False, normed=False):
        """Random bits. With `signs`, su replaces suh; with `normed` (a norm follows), sv replaces svh too."""
        self.count += 1
        k_bits, codebook = 1 + self.count * 5 % 8, CODEBOOKS[self.count % 3]
        k, n = -(-n_in // 128) * 128, -(-n_out // 128) * 128
        trellis = self.rng.integers(-2**15, 2**15, (k // 16, n // 16, 16 * k_bits))
        self.put(f"{key}.trellis", "I16", trellis)
        if signs:
            self.put(f"{key}.su", "I16", self.rng.integers(-2**15, 2**15, k // 16))
        else:
            self.put(f"{key}.suh", "F16", self.signed(k))
        if signs and normed:
            self.put(f"{key}.sv", "I16", self.rng.integers(-2**15, 2**15, n // 16))
        else:
            self.put(f"{key}.svh", "F16", self.signed(n) * gain / SPREAD[codebook] / np.sqrt(n_in))
        entry = {"quant_format": "exl3", "bits_per_weight": k_bits}
        if codebook in MARKERS:
            self.put(f"{key}.{codebook}", "I32", np.array(MARKERS[codebook] - 2**32))
            entry[f"{codebook}_multiplier"] = MARKERS[codebook]
        self.listed[key] = entry

    def matrix(self, key, n_in, n_out, gain=1.0, normed=False, expert=False, plain=False, bias=False):
        quantized = {"all": True, "experts": expert, "none": False}[self.store["quantize"]] and not plain
        if quantized:
            self.exl3(key, n_in, n_out, gain, self.store["signs"] == "some" and (normed or self.count % 2 == 0), normed)
        else:
            self.vector(f"{key}.weight", (n_out, n_in), 0, gain * np.sqrt(3 / n_in))
        if self.store["bias"] and bias:
            self.vector(f"{key}.bias", n_out, 0, 0.3, "F32" if quantized and self.count % 2 else "F16")

    # -- the model ----------------------------------------------------------------------------------

    def mixer(self, p):
        h, d = self.cfg["hc_mult"], self.cfg["hidden_size"]
        rows = 2 * h + h * h
        self.vector(f"{p}_fn", (rows, h * d), 0, 2 / np.sqrt(h * d), "F32")
        self.vector(f"{p}_base", rows, 0, 1.2, "F32")
        self.vector(f"{p}_scale", 3, 1.0, 0.4, "F32")

    def kda(self, p):
        d, lin = self.cfg["hidden_size"], self.cfg["linear"]
        heads, dim, taps = lin["num_heads"], lin["head_dim"], lin["short_conv_kernel_size"]
        width = heads * dim
        if self.store["fused_qkv"]:
            self.matrix(f"{p}.qkv_proj", d, 3 * width, bias=True)
        else:
            for name in "qkv":
                self.matrix(f"{p}.{name}_proj", d, width, bias=True)
        if self.store["fused_conv"]:
            self.vector(f"{p}.conv1d.weight", (3 * width, 1, taps), 0, 0.9)
        else:
            for name in "qkv":
                self.vector(f"{p}.{name}_conv1d.weight", (width, 1, taps), 0, 0.9)
        for pair, gain in (("f", 1.0), ("g", 2.0)):
            self.matrix(f"{p}.{pair}_a_proj", d, dim, plain=True)
            self.matrix(f"{p}.{pair}_b_proj", dim, width, gain, plain=True)
        self.matrix(f"{p}.b_proj", d, heads, plain=True)
        dims = (1, 1, heads, 1) if self.store["a_log_dims"] else (heads,)
        self.vector(f"{p}.A_log", dims, 0, 0.8, "F32")
        self.vector(f"{p}.dt_bias", width, -1.0, 2.0, "F32")
        self.vector(f"{p}.o_norm.weight", dim, 1.0, 0.4)
        self.matrix(f"{p}.o_proj", width, d, 1.5, bias=True)

    def mla(self, p, indexer):
        c, d, heads = self.cfg, self.cfg["hidden_size"], self.cfg["num_attention_heads"]
        self.matrix(f"{p}.q_a_proj", d, c["q_lora_rank"], normed=True)
        self.vector(f"{p}.q_a_layernorm.weight", c["q_lora_rank"], 1.0, 0.4)
        self.matrix(f"{p}.q_b_proj", c["q_lora_rank"], heads * c["qk_nope_head_dim"], bias=True)
        self.matrix(f"{p}.kv_a_proj_with_mqa", d, c["kv_lora_rank"], normed=True)
        self.vector(f"{p}.kv_a_layernorm.weight", c["kv_lora_rank"], 1.0, 0.4)
        self.matrix(f"{p}.kv_b_proj", c["kv_lora_rank"], heads * (c["qk_nope_head_dim"] + c["v_head_dim"]), 1.2,
                    plain=not self.store["quantize_kv_b"])
        self.matrix(f"{p}.o_proj", heads * c["v_head_dim"], d, bias=True)
        if indexer != "full":
            return
        i, dim = f"{p}.indexer", c["index_head_dim"]
        self.matrix(f"{i}.wq_b", c["q_lora_rank"], c["index_n_heads"] * dim)
        self.matrix(f"{i}.wk", d, dim, plain=True)
        self.matrix(f"{i}.weights_proj", d, c["index_n_heads"], plain=True)
        self.vector(f"{i}.k_norm.weight", dim, 1.0, 0.3)
        self.vector(f"{i}.k_norm.bias", dim, 0, 0.3)
        self.vector(f"{i}.index_kpool_compress_gate", (dim, d), 0, np.sqrt(3 / d))
        self.vector(f"{i}.index_kpool_compress_ape", (c["index_kpool"], dim), 0, 0.5)

    def mlp(self, p, width, gain, **how):
        d = self.cfg["hidden_size"]
        self.matrix(f"{p}.gate_proj", d, width, 1.5, **how)
        self.matrix(f"{p}.up_proj", d, width, 1.5, **how)
        self.matrix(f"{p}.down_proj", width, d, gain, **how)

    def moe(self, p):
        c = self.cfg
        self.matrix(f"{p}.gate", c["hidden_size"], c["n_routed_experts"], 1.5, plain=not self.store["quantize_router"])
        self.vector(f"{p}.gate.e_score_correction_bias", c["n_routed_experts"], 0, 0.2, "F32")
        down = min(2.0, 0.8 / c["swiglu_limit"]) if c["swiglu_limit"] < 1 else 0.8
        for e in range(c["n_routed_experts"]):
            plain = self.store["mixed_experts"] and e % 4 == 1
            self.mlp(f"{p}.experts.{e}", c["moe_intermediate_size"], down, expert=True, plain=plain)
        self.mlp(f"{p}.shared_experts", c["moe_intermediate_size"] * c["n_shared_experts"], down)

    def build(self):
        c, base = self.cfg, "model.language_model"
        self.vector(f"{base}.embed_tokens.weight", (c["vocab_size"], c["hidden_size"]), 0, 1.7)
        self.vector(f"{base}.norm.weight", c["hidden_size"], 1.0, 0.4)
        if not self.store["tied"]:
            self.matrix("lm_head", c["hidden_size"], c["vocab_size"], 2.0)
        for n, (attention, mlp) in enumerate(zip(c["layer_types"], c["mlp_layer_types"])):
            p = f"{base}.layers.{n}"
            self.mixer(f"{p}.hc_attn")
            self.mixer(f"{p}.hc_ffn")
            self.vector(f"{p}.input_layernorm.weight", c["hidden_size"], 1.0, 0.4)
            self.vector(f"{p}.post_attention_layernorm.weight", c["hidden_size"], 1.0, 0.4)
            if attention == KDA:
                self.kda(f"{p}.self_attn")
            else:
                self.mla(f"{p}.self_attn", c["indexer_types"][n])
            if mlp == "dense":
                self.mlp(f"{p}.mlp", c["intermediate_size"], 0.8)
            else:
                self.moe(f"{p}.mlp")
        if self.store["extras"]:
            self.vector("model.visual.blocks.0.norm1.weight", 32, 1, 0)
            self.exl3("model.visual.blocks.0.attn.qkv", 128, 128, 1.0)
            p = f"{base}.layers.{len(c['layer_types'])}"
            self.vector(f"{p}.enorm.weight", c["hidden_size"], 1, 0)
            self.exl3(f"{p}.eh_proj", 2 * c["hidden_size"], c["hidden_size"], 1.0)
        if self.store["odd_offset"]:
            self.put("model.visual.pad", "U8", np.arange(3))

    # -- files --------------------------------------------------------------------------------------

    def config(self):
        text = {key: value for key, value in self.cfg.items() if key != "linear"}
        text.update(model_type="glm5_next_text", num_hidden_layers=len(self.cfg["layer_types"]),
                    linear_attn_config=self.cfg["linear"], num_key_value_heads=self.cfg["num_attention_heads"],
                    qk_rope_head_dim=0, n_group=1, topk_group=1, norm_topk_prob=True, scoring_func="sigmoid",
                    hidden_act="silu", index_kpool_compress=True, index_kpool_always_select_tail=True, mhc=True,
                    eos_token_id=[2, 3], attention_bias=False, tie_word_embeddings=self.store["tied"])
        config = {"architectures": ["Glm5NextForConditionalGeneration"], "model_type": "glm5_next", "text_config": text}
        if self.store["quantize"] != "none":
            config["quantization_config"] = {"quant_method": "exl3", "version": "1.4.1", "bits": 4.5, "head_bits": 6,
                                             "codebook": "mul1"}
        return config

    def write(self, out):
        os.makedirs(out, exist_ok=True)
        save = lambda name, value: open(os.path.join(out, name), "w").write(json.dumps(value, indent=1))
        config = self.config()
        save("config.json", config)
        save("generation_config.json", {"eos_token_id": [2, 3], "temperature": 1.0, "top_p": 0.95})
        if self.store["quantize"] != "none" and self.store["storage_list"]:
            save("quantization_config.json", {**config["quantization_config"], "tensor_storage": self.listed})
        names = list(self.tensors)
        self.rng.shuffle(names)
        side = [n for n in names if self.store["side_file"] and ("kpool" in n or "eh_proj" in n or "enorm" in n)]
        rest = [n for n in names if n not in set(side)]
        shards = self.store["shards"]
        if shards == 1:
            self.write_file(os.path.join(out, "model.safetensors"), rest)
        else:
            weight_map = {}
            for i in range(shards):
                file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
                self.write_file(os.path.join(out, file), rest[i::shards])
                weight_map.update({name: file for name in rest[i::shards]})
            size = sum(len(self.tensors[name][2]) for name in rest)
            save("model.safetensors.index.json", {"metadata": {"total_size": size}, "weight_map": weight_map})
        if side:
            self.write_file(os.path.join(out, "kpool_aux.safetensors"), side)

    def write_file(self, path, names):
        if "model.visual.pad" in names:  # three bytes at the front put everything behind at odd places
            names = ["model.visual.pad"] + [n for n in names if n != "model.visual.pad"]
        header, offset = {"__metadata__": {"format": "pt"}}, 0
        for name in names:
            dtype, shape, raw = self.tensors[name]
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(raw)]}
            offset += len(raw)
        text = json.dumps(header).encode()
        if self.store["odd_offset"] and len(text) % 2 == 0:
            text += b" "
        with open(path, "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for name in names:
                f.write(self.tensors[name][2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", choices=VARIANTS)
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="names of all variants, one a line")
    args = parser.parse_args()
    if args.list:
        for name, (what, _, _) in VARIANTS.items():
            print(f"{name:<14} {what}")
        return 0
    if not args.variant or not args.out:
        parser.error("--variant and --out are needed")
    maker = Maker(args.variant, args.seed)
    maker.build()
    maker.write(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
