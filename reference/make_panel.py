#!/usr/bin/env python3
"""Makes a reference panel of a checkpoint, for bench/score_ref_panel.py: token sequences with the distributions that
ref_forward.py, in plain numpy, gives for them.

  make_panel.py --model DIR --items ITEMS.json --out PANEL.json                     token ids are given
  make_panel.py --model DIR --url http://127.0.0.1:30000 --out PANEL.json           a server writes the answers first

ITEMS is a list of {"name", "tokens", "prompt_len"}. With --url a few questions (or --questions FILE, a list of {"name",
"text"}) are answered greedily by a running server; only its tokens are taken, so the panel does not depend on its numbers,
and a row scores right or wrong whatever wrote the text.

One layer is in memory at a time, and one expert of it: about 8 GB for GLM-5.3-Flash in fp32, whatever the checkpoint's size.
The price is time: every expert that any row picks is decoded once, a few seconds each at the real shape, so a panel takes
the better part of a day there. Nobody has made one of the real checkpoint with this program yet; on hearth-tiny its panel
equals the one in this folder. Needs numpy. Then:

  score_ref_panel.py --url .. --panel PANEL.json --criteria experts-14-bit --out score.json
"""

import argparse
import json
import os
import sys
import time
import urllib.request

import numpy as np

import ref_forward as ref

QUESTIONS = [
    {"name": "hello", "text": "Hello!"},
    {"name": "fact", "text": "Which planet has the most moons, and why?"},
    {"name": "code", "text": "Write a Python function that reverses the words of a sentence, with a test."},
    {"name": "arithmetic", "text": "What is 384 divided by 16? Show the steps."},
    {"name": "translate", "text": "Translate into German: 'We missed the last ferry and slept on the beach.'"},
    {"name": "list", "text": "Name five uses of copper."},
    {"name": "explain", "text": "Explain zero-copy model offloading."},
    {"name": "unicode", "text": "Write a haiku about 雪 with one emoji."},
]
BEST = 20


class Experts:
    """Decodes an expert when it is asked for, and keeps none."""

    def __init__(self, load, prefix, cfg):
        self.load, self.prefix, self.cfg, self.decoded = load, prefix, cfg, 0

    def __getitem__(self, e):
        self.decoded += 1
        return ref.load_mlp(
            self.load, f"{self.prefix}.experts.{e}", self.cfg.hidden_size, self.cfg.moe_intermediate_size
        )


def load_streamed_moe(load, p, cfg):
    return {
        "router": load.matrix(f"{p}.gate", cfg.hidden_size, cfg.n_experts),
        "bias": load.vector(f"{p}.gate.e_score_correction_bias", cfg.n_experts),
        "experts": Experts(load, p, cfg),
        "shared": ref.load_mlp(load, f"{p}.shared_experts", cfg.hidden_size, cfg.moe_intermediate_size * cfg.n_shared),
    }


def mixed(streams, post, comb, y):
    return post[:, :, None] * y[:, None, :] + np.einsum("tij,tid->tjd", comb, streams)


class StreamedModel:
    """The forward pass of ref_forward.Model, layer by layer over all sequences at once."""

    def __init__(self, directory, dtype):
        with open(os.path.join(directory, "config.json")) as f:
            config = json.load(f)
        self.cfg = ref.Config(config.get("text_config", config))
        self.load = ref.Loader(ref.SafetensorsDir(directory), dtype)

    def attention(self, i, p, x, spans, masks):
        """`spans`: rows of each sequence in x. Rows of one sequence see each other only."""
        cfg, y = self.cfg, np.empty_like(x)
        if cfg.layer_types[i] == "linear_attention":
            w = ref.load_kda(self.load, p, cfg)
            for span in spans:
                y[span], _ = ref.kda(w, x[span], cfg, ref.kda_recurrent)
        else:
            w = ref.load_mla(self.load, p, cfg, cfg.indexer_types[i])
            for s, span in enumerate(spans):
                y[span], masks[s] = ref.mla(w, x[span], cfg, masks[s])
        return y

    def feed_forward(self, i, p, x):
        cfg = self.cfg
        if cfg.mlp_layer_types[i] == "dense":
            return ref.mlp(ref.load_mlp(self.load, p, cfg.hidden_size, cfg.intermediate_size), x, cfg.swiglu_limit), 0
        w = load_streamed_moe(self.load, p, cfg)
        return ref.moe(w, x, cfg)[0], w["experts"].decoded

    def last_hidden(self, sequences, tell):
        """-> normalised hidden rows of all sequences one after the other, and the rows of each."""
        cfg, load, base = self.cfg, self.load, "model.language_model"
        ends = np.cumsum([len(s) for s in sequences])
        spans = [slice(int(end) - len(s), int(end)) for s, end in zip(sequences, ends)]
        embed = load.vector(f"{base}.embed_tokens.weight", cfg.vocab_size, cfg.hidden_size)
        streams = np.repeat(embed[np.concatenate(sequences)][:, None, :], cfg.hc_mult, axis=1)
        del embed
        masks = [None] * len(sequences)
        for i in range(cfg.num_layers):
            begin, p = time.time(), f"{base}.layers.{i}"
            pre, post, comb = ref.hc_mix(ref.load_hc(load, f"{p}.hc_attn", cfg), streams, cfg)
            norm = load.vector(f"{p}.input_layernorm.weight", cfg.hidden_size)
            x = ref.rms_norm(np.einsum("ts,tsd->td", pre, streams), norm, cfg.rms_norm_eps)
            streams = mixed(streams, post, comb, self.attention(i, f"{p}.self_attn", x, spans, masks))
            pre, post, comb = ref.hc_mix(ref.load_hc(load, f"{p}.hc_ffn", cfg), streams, cfg)
            norm = load.vector(f"{p}.post_attention_layernorm.weight", cfg.hidden_size)
            x = ref.rms_norm(np.einsum("ts,tsd->td", pre, streams), norm, cfg.rms_norm_eps)
            y, decoded = self.feed_forward(i, f"{p}.mlp", x)
            streams = mixed(streams, post, comb, y)
            tell(f"layer {i + 1} of {cfg.num_layers}: {decoded} experts, {time.time() - begin:.1f} s")
        norm = load.vector(f"{base}.norm.weight", cfg.hidden_size)
        return ref.rms_norm(streams.mean(axis=1), norm, cfg.rms_norm_eps), spans

    def head(self):
        cfg = self.cfg
        if self.load.has("lm_head.trellis") or self.load.has("lm_head.weight"):
            return self.load.matrix("lm_head", cfg.hidden_size, cfg.vocab_size)
        return self.load.vector("model.language_model.embed_tokens.weight", cfg.vocab_size, cfg.hidden_size).T


def make_panel(directory, items, dtype, tell):
    """Adds top20_ids, top20_lp and greedy to each item: one row for each token from the last of the prompt on."""
    model = StreamedModel(directory, dtype)
    hidden, spans = model.last_hidden([np.asarray(item["tokens"]) for item in items], tell)
    head, panel = model.head(), []
    for item, span in zip(items, spans):
        lp = ref.log_softmax((hidden[span][item["prompt_len"] - 1 :] @ head).astype(np.float64))
        ids = np.argsort(-lp, axis=1, kind="stable")[:, :BEST]
        best = np.take_along_axis(lp, ids, axis=1)
        panel.append(
            {
                "name": item["name"],
                "tokens": list(item["tokens"]),
                "prompt_len": item["prompt_len"],
                "top20_ids": ids.tolist(),
                "top20_lp": [[round(v, 6) for v in row] for row in best.tolist()],
                # What greedy decoding would choose after each prefix of this very text.
                "greedy": ids[:-1, 0].tolist(),
            }
        )
    return panel


def ask(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=3600) as response:
        return json.load(response)


def answered(url, questions, tokens, tell):
    """Questions as items, with the server's greedy answers."""
    items = []
    for question in questions:
        chat = {
            "messages": [{"role": "user", "content": question["text"]}],
            "chat_template_kwargs": {"enable_thinking": False},
        }
        prompt = ask(url, "/tokenize", {"prompt": ask(url, "/apply-template", chat)["prompt"]})["tokens"]
        answer = ask(
            url, "/generate", {"input_ids": prompt, "sampling_params": {"temperature": 0, "max_new_tokens": tokens}}
        )["output_ids"]
        items.append({"name": question["name"], "tokens": prompt + answer, "prompt_len": len(prompt)})
        tell(f"{question['name']}: {len(prompt)} + {len(answer)} tokens")
    return items


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, metavar="DIR")
    parser.add_argument("--out", required=True)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--items", metavar="FILE")
    source.add_argument("--url", help="server that answers the questions")
    parser.add_argument("--questions", metavar="FILE", help="with --url")
    parser.add_argument("--tokens", type=int, default=96, help="longest answer (default %(default)s)")
    parser.add_argument("--dtype", choices=("fp32", "fp64"), default="fp32")
    args = parser.parse_args()

    def tell(text):
        print(text, file=sys.stderr, flush=True)

    if args.items:
        with open(args.items) as f:
            items = json.load(f)
    else:
        questions = QUESTIONS
        if args.questions:
            with open(args.questions) as f:
                questions = json.load(f)
        items = answered(args.url.rstrip("/"), questions, args.tokens, tell)
    panel = make_panel(args.model, items, {"fp32": np.float32, "fp64": np.float64}[args.dtype], tell)
    with open(args.out, "w") as f:
        json.dump(panel, f)
    rows = sum(len(item["top20_ids"]) for item in panel)
    tell(f"{args.out}: {len(panel)} items, {rows} rows")


if __name__ == "__main__":
    main()
