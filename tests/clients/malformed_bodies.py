"""Bodies that no request may have, as (name, bytes, headers), for every route that takes one.

`broken_texts` are wrong for every route; `wrong_fields` puts values of wrong types and ranges into each field of one.
"""

import json

ROUTES = ("/v1/chat/completions", "/v1/completions", "/generate", "/tokenize", "/detokenize", "/apply-template")

_MESSAGES = [{"role": "user", "content": "x"}]
VALID = {
    "/v1/chat/completions": {"messages": _MESSAGES, "max_tokens": 1},
    "/v1/completions": {"prompt": "x", "max_tokens": 1},
    "/generate": {"text": "x", "sampling_params": {"max_new_tokens": 1}},
    "/tokenize": {"prompt": "x"},
    "/detokenize": {"tokens": [1]},
    "/apply-template": {"messages": _MESSAGES},
}

_NUMBERS = ("temperature", "top_p", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty")
_WHOLE = ("seed", "top_k", "n")
_NOT_NUMBERS = ("1", True, [1], {"a": 1}, 1e300, -1e300, 10**400)
_NOT_WHOLE = ("1", True, [1], {}, 1.5, 10**30)
_NOT_BOOLS = ("true", 1, 0, [], {})
_NOT_STRINGS = (1, True, ["x"], {"x": 1})
_NOT_LISTS = ("x", 1, True, {"x": 1})
_NOT_OBJECTS = ("x", 1, True, [1])
_NOT_COUNTS = (*_NOT_WHOLE, 0, -1)

_SAMPLING = [
    *((f, _NOT_NUMBERS) for f in _NUMBERS),
    *((f, _NOT_WHOLE) for f in _WHOLE),
    ("stop", (1, True, {}, [1], [""], ["x"] * 40, "", "x" * 100000)),
    ("ignore_eos", _NOT_BOOLS),
    (
        "logit_bias",
        (
            *_NOT_OBJECTS,
            {"x": 1},
            {"1": "x"},
            {"-1": 1},
            {"1": 101},
            {"99999999999": 1},
            {"4294967297": 1},
            {str(i): 1 for i in range(2000)},
        ),
    ),
]
_OPENAI = [
    *_SAMPLING,
    ("model", _NOT_STRINGS),
    ("stream", _NOT_BOOLS),
    ("stream_options", _NOT_OBJECTS),
    ("max_tokens", _NOT_COUNTS),
    ("user", _NOT_STRINGS),
]
_BAD_MESSAGES = (
    *_NOT_LISTS,
    [],
    [1],
    ["x"],
    [None],
    [[]],
    [{}],
    [{"role": "user"}],
    [{"content": "x"}],
    [{"role": 1, "content": "x"}],
    [{"role": "king", "content": "x"}],
    [{"role": "user", "content": 1}],
    [{"role": "user", "content": None}],
    [{"role": "user", "content": {"text": "x"}}],
    [{"role": "user", "content": [1]}],
    [{"role": "user", "content": [{"type": "text"}]}],
    [{"role": "user", "content": [{"type": "text", "text": 1}]}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
    [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}],
    [{"role": "assistant", "content": "x", "tool_calls": "x"}, *_MESSAGES],
    [{"role": "assistant", "content": "x", "tool_calls": [1]}, *_MESSAGES],
    [
        {
            "role": "assistant",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": 1, "arguments": "{}"}}],
        },
        *_MESSAGES,
    ],
    [
        {
            "role": "assistant",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}],
        },
        *_MESSAGES,
    ],
    [
        {
            "role": "assistant",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "[]"}}],
        },
        *_MESSAGES,
    ],
    [*_MESSAGES, {"role": "tool", "tool_call_id": 1, "content": "x"}],
    [*_MESSAGES, {"role": "assistant", "content": "x"}],
    _MESSAGES * 100000,
)
_CHAT = [
    *_OPENAI,
    ("messages", _BAD_MESSAGES),
    ("max_completion_tokens", _NOT_COUNTS),
    ("logprobs", _NOT_BOOLS),
    ("top_logprobs", (*_NOT_WHOLE, -1, 21, 5)),
    (
        "tools",
        (
            *_NOT_LISTS,
            [1],
            [{}],
            [{"type": "x"}],
            [{"type": "function"}],
            [{"type": "function", "function": {}}],
            [{"type": "function", "function": {"name": 1}}],
            [{"type": "function", "function": {"name": "f", "parameters": 1}}],
        ),
    ),
    ("tool_choice", (1, "sometimes", [], {}, {"type": "function"}, {"type": "function", "function": {"name": "none"}})),
    ("reasoning_effort", (1, "huge", [])),
    ("chat_template_kwargs", _NOT_OBJECTS),
    ("enable_thinking", _NOT_BOOLS),
    ("thinking", ("yes", [], {"type": "maybe"})),
    ("clear_thinking", _NOT_BOOLS),
    ("response_format", (1, "x", [], {"type": "yaml"})),
    ("metadata", _NOT_OBJECTS),
    ("modalities", (1, ["audio"])),
    ("functions", ([],)),
    ("audio", ({},)),
]
_COMPLETION = [
    *_OPENAI,
    ("prompt", (1, True, {}, [], [[]], [True], [1.5], [-1], [99999], [2**40], ["x", 1], ["x"] * 100, [[1, [2]]])),
    ("logprobs", (*_NOT_WHOLE, -1, 21)),
    ("echo", _NOT_BOOLS),
    ("suffix", ("x",)),
    ("best_of", (2, "x")),
]
_GENERATE_OUTER = [
    ("text", _NOT_STRINGS),
    ("input_ids", (*_NOT_LISTS, [], ["x"], [1.5], [-1], [99999], [[1], [2]])),
    ("sampling_params", _NOT_OBJECTS),
    ("stream", _NOT_BOOLS),
    ("return_logprob", _NOT_BOOLS),
    ("logprob_start_len", (*_NOT_WHOLE, -2)),
    ("top_logprobs_num", (*_NOT_WHOLE, -1)),
    ("token_ids_logprob", (*_NOT_LISTS, ["x"])),
    ("path", (1, "SIDEWAYS")),
    ("decode_from", (*_NOT_WHOLE, 0)),
    ("logits_hash", _NOT_BOOLS),
]
FIELDS = {
    "/v1/chat/completions": _CHAT,
    "/v1/completions": _COMPLETION,
    "/generate": _GENERATE_OUTER,
    "/tokenize": [("prompt", (*_NOT_STRINGS, None)), ("model", _NOT_STRINGS), ("stranger", (1,))],
    "/detokenize": [
        ("tokens", (*_NOT_LISTS, ["x"], [1.5], [-1], [99999], [2**70], None)),
        ("skip_special_tokens", _NOT_BOOLS),
    ],
    "/apply-template": [("messages", _BAD_MESSAGES), ("tools", (*_NOT_LISTS, [{}]))],
}


def _text(body):
    return json.dumps(body).encode()


def wrong_fields(route):
    for field, values in FIELDS[route]:
        for i, value in enumerate(values):
            yield f"{field} #{i}", _text({**VALID[route], field: value}), {}
    if route == "/generate":
        for field, values in [*_SAMPLING, ("max_new_tokens", (*_NOT_WHOLE, -1)), ("skip_special_tokens", _NOT_BOOLS)]:
            for i, value in enumerate(values):
                params = {"max_new_tokens": 1, field: value}
                yield f"sampling_params.{field} #{i}", _text({**VALID[route], "sampling_params": params}), {}


def broken_texts(route):
    """Beyond 32 MiB only what the server need not read."""
    good = _text(VALID[route])
    inside = good[:-1]
    yield "empty", b"", {}
    yield "blanks", b" \n\t ", {}
    for name in (
        b"null",
        b"true",
        b"7",
        b'"x"',
        b"[]",
        b"[{}]",
        b"{}{}",
        b"{",
        b"}",
        b"[",
        b'{"',
        b'{"a',
        b'{"a"',
        b'{"a":',
        b'{"a":1',
        b'{"a":1,',
        b'{"a":1,}',
        b"{a:1}",
        b"{'a':1}",
        b'{"a":1]',
        b"{,}",
        b'{"a" 1}',
        b'{"a":01}',
        b'{"a":+1}',
        b'{"a":.5}',
        b'{"a":1.}',
        b'{"a":1e}',
        b'{"a":0x10}',
        b'{"a":tru}',
        b'{"a":undefined}',
        b"\x00",
        b"\x00" * 1000,
        b"// x\n{}",
        b'{"a":/*x*/1}',
        b"\xef\xbb\xbf{",
        b"<xml/>",
        b"a=1&b=2",
        b"GET / HTTP/1.1\r\n\r\n",
    ):
        yield repr(name[:20]), name, {}
    for cut in (1, len(good) // 2, len(good) - 1):
        yield f"cut at {cut}", good[:cut], {}
    for word in (b"NaN", b"Infinity", b"-Infinity", b"nan", b"1e999", b"-1e999", b"1e99999999999"):
        yield f"number {word.decode()}", inside + b', "temperature": ' + word + b"}", {}
    yield "number of a million digits", inside + b', "temperature": ' + b"9" * 1000000 + b".0}", {}
    for escape in (
        rb"\ud800",
        rb"\udc00",
        rb"\ud800\ud800",
        rb"\ud800x",
        rb"\ud83d\u0041",
        rb"\u12",
        rb"\x41",
        rb"\u{41}",
    ):
        yield f"escape {escape.decode()}", inside + b', "user": "' + escape + b'"}', {}
    for raw in (
        b"\xff",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe6\x9d",
        b"\x80",
        b"\xf0\x9f\x99",
        b"\xfe\xff",
    ):
        yield f"bytes {raw.hex()}", inside + b', "user": "' + raw + b'"}', {}
    yield "control character", inside + b', "user": "a\nb"}', {}
    yield "UTF-16", good.decode().encode("utf-16"), {}
    yield "UTF-32", good.decode().encode("utf-32"), {}
    yield "duplicate", inside + b", " + good[1:], {}
    yield "duplicate inside", inside + b', "metadata": {"a": "1", "a": "2"}}', {}
    yield "duplicate by escape", inside + b', "zz": 1, "\\u007az": 2}', {}
    yield "two documents", good + good, {}
    yield "something behind", good + b"x", {}
    for open_, close in ((b"[", b"]"), (b'{"a":', b"}")):
        for depth in (65, 5000, 200000):
            yield (
                f"{depth} levels of {open_.decode()}",
                inside + b', "deep": ' + open_ * depth + b"1" + close * depth + b"}",
                {},
            )
            yield f"{depth} open levels of {open_.decode()}", open_ * depth, {}
    yield "unfinished string of 1 MB", b'{"prompt": "' + b"x" * 1000000, {}
    yield "multipart", good, {"Content-Type": "multipart/form-data; boundary=x"}
    yield (
        "a form from another origin",
        good,
        {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://evil.example"},
    )
    yield "text from another origin", good, {"Content-Type": "text/plain", "Origin": "http://evil.example"}
    yield "gzip", b"\x1f\x8b\x08\x00" + b"x" * 20, {"Content-Encoding": "gzip"}
    yield "50 MB", b'{"prompt": "' + b"x" * 50_000_000 + b'"}', {}


def all_bodies(route):
    yield from broken_texts(route)
    yield from wrong_fields(route)
