#!/usr/bin/env python3
"""Compares `hearth-text tokenize` and `detokenize` with the `tokenizers` package, id by id.

usage: tokenizer_parity.py HEARTH_TEXT MODEL_DIR [--seed N] [--count N] [--every-character]

Needs the package `tokenizers` (tried with 0.23.3); everything else is the standard library. Feeds at least 2,000
strings: every added token alone and embedded, scripts, emoji, controls, digits, white space, contractions, random valid
Unicode, damaged tags, long runs. Does so for the model's tokenizer.json and for copies of it with `ignore_merges`
turned around and with the merges written as "a b". Exits with 1 at any difference.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import tokenizers

WORDS = """Hello world don't I'VE we'll they'RE it's 'S 'Ll x'd a'm Zürich São naïve 東京 北京大学 维生素C A股 QQ音乐 C罗 こんにちは
カタカナ 안녕하세요 Привет мир שלום עולם مرحبا بالعالم नमस्ते สวัสดี ไทย Ελληνικά 𝔘𝔫𝔦 ﬁne ſtrange K Å ß İstanbul ǆ e\u0301 ẛ̣
int main(){return 0;} x+=1;//c <a href="b"> #include a_b a-b $1.50 100% 1e-5 3.14159 12345678901 ①②③ Ⅷ ½ ٣٤٥ १२३ 
foo.bar() </p> <<>> [[x]] <|x|> <think </arg_ -- … “q” ‘q’ €5 ™ ☃ 👍 👩‍👩‍👧‍👦 🇩🇪 ❤️ 🏳️‍🌈""".split()
SPACES = [" ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\r", " \n", "\n ", "\v", "\f", "\u0085", "\u00a0", "\u1680", "\u180e",
          "\u2003", "\u200b", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff", "\x1c", "\x1f"]


def random_character(rng):
    while True:
        limit = rng.choice([0x80, 0x250, 0x800, 0x3100, 0xA000, 0x10000, 0x20000, 0x110000])
        code = rng.randrange(limit)
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def make_texts(added, rng, count):
    texts = ["", *WORDS, *SPACES]
    for token in added:
        texts += [token, f"a{token}b", f" {token} ", f"{token}{token}", f"\n{token}\n", f"x {token[:-1]} y",
                  f"<{token}>", token[1:] + token[:-1], f"说{token}好", token + rng.choice(added)]
    texts += [chr(c) for c in range(0x300)] + [f"a{chr(c)}b" for c in range(0x21)] + [f"'{chr(c)}" for c in range(0x21, 0x180)]
    texts += [" " * n + "x" for n in range(20)] + ["\n" * n for n in range(20)] + ["9" * n for n in range(20)]
    texts += ["a" * 3000, " " * 3000, "\n \t" * 500, "1" * 2000, "东京" * 700, "é" * 1000, "ab" * 2000, "<" * 2000, "'s" * 900]
    while len(texts) < count:
        kind = rng.randrange(4)
        length = rng.choice([1, 2, 3, 8, 30])
        if kind == 0:
            text = "".join(random_character(rng) for _ in range(length))
        elif kind == 1:
            text = "".join(rng.choice(WORDS) + rng.choice(SPACES) for _ in range(length))
        elif kind == 2:
            pool = WORDS + SPACES + added + list("0123456789'\"<>/|_ ")
            text = "".join(rng.choice(pool) for _ in range(length))
        else:
            text = "".join(rng.choice(rng.choice([SPACES, WORDS, [random_character(rng)]])) for _ in range(length))
        texts.append(text)
    return texts


def every_character():
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    return [f"{chr(c)}|x{chr(c)}y {chr(c)}1 '{chr(c)}\n" for c in codes]


def run(binary, model, job, inputs):
    lines = "".join(json.dumps(i, ensure_ascii=False) + "\n" for i in inputs)
    done = subprocess.run([binary, "--model", model, job], input=lines.encode(), stdout=subprocess.PIPE, check=True,
                          timeout=600)
    answers = [json.loads(line) for line in done.stdout.decode().split("\n") if line]
    if len(answers) != len(inputs):
        raise SystemExit(f"{job}: {len(inputs)} lines in, {len(answers)} out")
    return answers


def compare(binary, model, texts, name):
    reference = tokenizers.Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    wanted = [e.ids for e in reference.encode_batch(texts, add_special_tokens=False)]
    got = [a.get("tokens") for a in run(binary, model, "tokenize", [{"text": t} for t in texts])]
    back = [a.get("text") for a in run(binary, model, "detokenize", [{"tokens": ids} for ids in wanted])]
    size = reference.get_vocab_size()
    rng = random.Random(len(texts))
    loose = [[rng.randrange(size) for _ in range(rng.randrange(1, 12))] for _ in range(2000)]
    loose_back = [a.get("text") for a in run(binary, model, "detokenize", [{"tokens": ids} for ids in loose])]
    loose_wanted = reference.decode_batch(loose, skip_special_tokens=False)
    differences = 0
    for what, inputs, a, b in (("ids", texts, got, wanted), ("text", wanted, back, texts),
                               ("text of random ids", loose, loose_back, loose_wanted)):
        for item, mine, theirs in zip(inputs, a, b):
            if mine != theirs:
                differences += 1
                if differences <= 20:
                    print(f"{name}: {what} of {item!r}: {mine!r}, expected {theirs!r}"[:600])
    print(f"{name}: {len(texts)} texts, {len(loose)} random id sequences, {differences} differences")
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6000)
    parser.add_argument("--every-character", action="store_true", help="also 1.1 million texts, one per code point")
    options = parser.parse_args()
    with open(os.path.join(options.model, "tokenizer.json"), encoding="utf-8") as file:
        definition = json.load(file)
    added = [token["content"] for token in definition["added_tokens"]]
    texts = make_texts(added, random.Random(options.seed), options.count)
    if options.every_character:
        texts += every_character()
    differences = compare(options.binary, options.model, texts, "as it is")

    def changed(name, change):
        copy = json.loads(json.dumps(definition))
        change(copy["model"])
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as out:
                json.dump(copy, out, ensure_ascii=False)
            return compare(options.binary, folder, texts, name)

    differences += changed("ignore_merges turned", lambda m: m.update(ignore_merges=not m["ignore_merges"]))
    differences += changed("merges joined", lambda m: m.update(
        merges=[x if isinstance(x, str) else " ".join(x) for x in m["merges"]]))
    # Without most merges, whole entries and merged ones differ: this is where ignore_merges shows.
    differences += changed("few merges, ignore_merges", lambda m: m.update(merges=m["merges"][:300], ignore_merges=True))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
