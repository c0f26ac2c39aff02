#!/usr/bin/env python3
"""Sends one chat message at temperature 0 and prints reasoning and answer as they arrive. Standard library only."""

import argparse
import http.client
import json
import ssl
import sys
import urllib.error
import urllib.request


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:30000")
    parser.add_argument("--max-tokens", type=int)
    parser.add_argument("--headers", help="file of further header lines, as NAME: VALUE")
    parser.add_argument("text")
    args = parser.parse_args()
    headers = {"Content-Type": "application/json"}
    if args.headers:
        with open(args.headers) as f:
            headers.update(line.rstrip("\n").split(": ", 1) for line in f if line.strip())
    if sys.stdout is None:
        sys.exit("ask: standard output is closed; there is nowhere to print the answer")
    sys.stdout.reconfigure(errors="replace")  # an answer may hold what the terminal's encoding lacks
    try:
        ask(args, headers)
    except urllib.error.HTTPError as error:
        sys.exit(f"HTTP {error.code}: {error.read().decode(errors='replace')}")
    except (OSError, ValueError, http.client.HTTPException) as error:
        sys.exit(f"{args.url}: {error}")


def connection():
    """To this machine whatever proxy is set, and to whatever certificate: the server is our own."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))


def ask(args, headers):
    server = connection()
    with server.open(urllib.request.Request(f"{args.url}/v1/models", headers=headers), timeout=10) as response:
        model = json.load(response)["data"][0]["id"]
    body = {"model": model, "messages": [{"role": "user", "content": args.text}], "temperature": 0, "stream": True}
    if args.max_tokens:
        body["max_tokens"] = args.max_tokens
    request = urllib.request.Request(f"{args.url}/v1/chat/completions", json.dumps(body).encode(), headers)
    section = None
    with server.open(request, timeout=120) as response:
        for line in response:
            if not line.startswith(b"data: ") or line.strip() == b"data: [DONE]":
                continue
            event = json.loads(line[6:])
            if "error" in event:
                sys.exit(f"the server reports: {event['error']['message']}")
            for choice in event["choices"]:
                for field, title in (("reasoning_content", "reasoning"), ("content", "answer")):
                    text = choice["delta"].get(field)
                    if not text:
                        continue
                    if section != title:
                        print(("" if section is None else "\n\n") + f"--- {title}", flush=True)
                        section = title
                    print(text, end="", flush=True)
                for call in choice["delta"].get("tool_calls") or []:
                    print(json.dumps(call["function"], ensure_ascii=False), flush=True)
    print()
    if section is None:
        sys.exit("the answer was empty")


if __name__ == "__main__":
    main()
