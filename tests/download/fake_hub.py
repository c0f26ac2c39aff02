"""A server that looks like the model hub to huggingface_hub, and misbehaves as told. Standard library only.
As a program it serves the files of a folder, and cuts the first connection of the largest one in the middle:
    fake_hub.py FOLDER ADDRESS      prints its port

It serves one repository of generated files: model listing, HEAD and ranged GET of /REPO/resolve/REVISION/FILE.
"""

import hashlib
import http.server
import json
import os
import random
import socket
import sys
import threading
import time

REPO, COMMIT = "owner/model", "c" * 40


def make_files():
    """Name -> bytes: two shards (stored as LFS, like real ones) and small text files."""
    rng = random.Random(7)
    return {
        "config.json": b'{"model_type": "glm5_next"}\n',
        "tokenizer.json": b"{}\n",
        "model-00001-of-00002.safetensors": rng.randbytes(25_000_000),
        "model-00002-of-00002.safetensors": rng.randbytes(1_500_000),
    }


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class QuietServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # clients that leave are what is tested


class FakeHub:
    """`faults`: what to do with the next requests, taken from the front of the list. A fault is (kind, argument):

    ("status", 429 | 500 | 401 | 404 ..)   answer so          ("cut", n)      close after n bytes of the body
    ("short", n)     say and send n bytes less than there are  ("flip", i)     damage byte i of the body
    ("slow", s)      sleep s between pieces of 64 KiB          ("meet", s)     wait s at most until another body is sent too
    ("ok", None)     nothing wrong

    `api_faults` for the listing, `faults` for GETs of the file `target`, `forever` for all of those. `claimed_bytes` is
    added to what the listing says of the target's size.
    """

    def __init__(
        self,
        target="model-00001-of-00002.safetensors",
        faults=(),
        api_faults=(),
        forever=None,
        retry_after=None,
        claimed_bytes=0,
        files=None,
        host="127.0.0.1",
    ):
        self.files, self.target = files or make_files(), target
        self.faults, self.api_faults, self.forever = list(faults), list(api_faults), forever
        self.retry_after, self.claimed_bytes = retry_after, claimed_bytes
        self.lock, self.requests, self.running, self.most_running = threading.Lock(), [], 0, 0
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                hub.answer(self, with_body=False)

            def do_GET(self):
                hub.answer(self, with_body=True)

        self.server = QuietServer((host, 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def next_fault(self, faults):
        with self.lock:
            return faults.pop(0) if faults else ("ok", None)

    def answer(self, handler, with_body):
        with self.lock:
            self.requests.append((handler.command, handler.path, handler.headers.get("Range")))
        path = handler.path.split("?")[0]
        if path.startswith(f"/api/models/{REPO}"):
            self.listing(handler)
            return
        name = path.rsplit("/", 1)[-1]
        if f"/{REPO}/resolve/" not in path or name not in self.files:
            self.send_error(handler, 404)
            return
        self.send_file(handler, name, with_body)

    def send_error(self, handler, status):
        body = json.dumps({"error": f"told to answer {status}"}).encode()
        handler.send_response(status)
        if status == 404:
            handler.send_header("X-Error-Code", "EntryNotFound")
        if self.retry_after is not None and status in (429, 503):
            handler.send_header("Retry-After", str(self.retry_after))
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(body)

    def listing(self, handler):
        kind, argument = self.next_fault(self.api_faults)
        if kind == "status":
            self.send_error(handler, argument)
            return
        siblings = []
        for name, data in self.files.items():
            size = len(data) + (self.claimed_bytes if name == self.target else 0)
            entry = {"rfilename": name, "size": size, "blobId": git_sha1(data)}
            if name.endswith(".safetensors"):
                entry["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": size, "pointerSize": 130}
            siblings.append(entry)
        body = json.dumps(
            {
                "id": REPO,
                "modelId": REPO,
                "sha": COMMIT,
                "private": False,
                "tags": [],
                "downloads": 0,
                "likes": 0,
                "siblings": siblings,
            }
        ).encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def send_file(self, handler, name, with_body):
        data = self.files[name]
        lfs = name.endswith(".safetensors")
        etag = hashlib.sha256(data).hexdigest() if lfs else git_sha1(data)
        fault = ("ok", None)
        if with_body and name == self.target:
            fault = self.forever or self.next_fault(self.faults)
        if fault[0] == "status":
            self.send_error(handler, fault[1])
            return
        size, begin = len(data), 0
        wanted = handler.headers.get("Range")
        if wanted:
            begin = int(wanted.split("=")[1].split("-")[0])
            if begin >= size:
                self.send_error(handler, 416)
                return
        body = bytearray(data[begin:])
        if fault[0] == "short":
            body = body[: len(body) - fault[1]]
        if fault[0] == "flip" and fault[1] < len(body):
            body[fault[1]] ^= 1
        handler.send_response(206 if wanted else 200)
        handler.send_header("ETag", f'"{etag}"')
        handler.send_header("X-Repo-Commit", COMMIT)
        handler.send_header("Accept-Ranges", "bytes")
        if lfs:
            handler.send_header("X-Linked-Size", str(size))
            handler.send_header("X-Linked-Etag", f'"{etag}"')
        if wanted:
            handler.send_header("Content-Range", f"bytes {begin}-{begin + len(body) - 1}/{size}")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if with_body:
            self.send_body(handler, body, fault)

    def send_body(self, handler, body, fault):
        with self.lock:
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        try:
            if fault[0] == "cut":
                handler.wfile.write(body[: fault[1]])
                handler.wfile.flush()
                handler.close_connection = True
                handler.connection.shutdown(socket.SHUT_RDWR)
                return
            end = time.monotonic() + (fault[1] if fault[0] == "meet" else 0)
            while time.monotonic() < end and self.most_running < 2:
                time.sleep(0.01)
            for at in range(0, len(body), 65536):
                handler.wfile.write(body[at : at + 65536])
                if fault[0] == "slow":
                    time.sleep(fault[1])
        except OSError:
            pass  # the client has left
        finally:
            with self.lock:
                self.running -= 1


def main():
    folder, host = sys.argv[1:]
    files = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f:
            files[name] = f.read()
    largest = max(files, key=lambda name: len(files[name]))
    hub = FakeHub(target=largest, faults=[("cut", len(files[largest]) // 2)], files=files, host=host)
    print(hub.server.server_address[1], flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
