"""What the bench clients share: requests to a server, streams of /generate, statistics. Standard library only."""

import argparse
import http.client
import json
import os
import statistics
import time
import urllib.error
import urllib.parse
import urllib.request


class ServerError(Exception):
    """The server cannot be measured: it is not there, refuses a request, or ends a stream with an error."""


# What urllib raises where a URL is none, a server is not there, goes away or says something else than HTTP and JSON.
BROKEN = (OSError, ValueError, http.client.HTTPException)


def opener(url):
    """Asks this machine itself, and others through the proxy that the environment names."""
    host = urllib.parse.urlsplit(url).hostname or ""
    local = host in ("localhost", "::1") or host.startswith("127.")
    return urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if local else []))


def result_file(path):
    """For argparse: a path that can be written, asked before a measurement and not after it."""
    place = path if os.path.exists(path) else os.path.dirname(path) or "."
    if os.path.isdir(path) or not os.access(place, os.W_OK):
        raise argparse.ArgumentTypeError(f"{path} cannot be written")
    return path


def positive(kind):
    """For argparse: a number of this kind above 0."""

    def read(text):
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is no number above 0")
        return value

    return read


class Server:
    def __init__(self, url, api_key=None, timeout=7200.0):
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.headers = {"Content-Type": "application/json"}
        if api_key:
            self.headers["Authorization"] = f"Bearer {api_key}"

    def open(self, path, body=None, timeout=None):
        """The response of a request that must succeed."""
        data = None if body is None else json.dumps(body).encode()
        try:
            request = urllib.request.Request(self.url + path, data, self.headers)
            return opener(self.url).open(request, timeout=timeout or self.timeout)
        except urllib.error.HTTPError as error:
            raise ServerError(f"{self.url}{path}: HTTP {error.code}: {error.read().decode(errors='replace')[:500]}")
        except BROKEN as error:
            raise ServerError(f"{self.url}{path}: {error}")

    def json(self, path, body=None, timeout=60.0):
        with self.open(path, body, timeout) as response:
            try:
                return json.load(response)
            except BROKEN as error:
                raise ServerError(f"{self.url}{path}: no JSON in the answer: {error}")

    def tokenize(self, text):
        return self.json("/tokenize", {"prompt": text})["tokens"]

    def events(self, path, body):
        """Yields (time of arrival, event) for each event of a stream, without the final [DONE], which must come."""
        with self.open(path, {**body, "stream": True}) as response:
            try:
                for line in response:
                    if not line.startswith(b"data:"):
                        continue
                    data = line[5:].strip()
                    if data == b"[DONE]":
                        return
                    event = json.loads(data)
                    if "error" in event:
                        raise ServerError(f"{self.url}{path}: the stream ended with: {event['error']}")
                    yield time.perf_counter(), event
            except BROKEN as error:
                raise ServerError(f"{self.url}{path}: the stream broke: {error}")
        raise ServerError(f"{self.url}{path}: the stream ended without [DONE]")


def spread(values):
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "n": len(values),
        "all": list(values),
    }


def glm_prompt(question):
    """A chat prompt in the text form that /tokenize takes, thinking off."""
    return f"[gMASK]<sop><|user|>{question}<|assistant|><think></think>"


def print_table(title, heads, rows):
    """A table with its first column left-aligned."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [heads] + rows) for i in range(len(heads))]

    def line(cells):
        first, *rest = (cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(cells, widths)))
        return "  ".join([first, *rest])

    print(f"\n{title}")
    print(line(heads))
    print(line(["-" * w for w in widths]))
    for row in rows:
        print(line(row))
