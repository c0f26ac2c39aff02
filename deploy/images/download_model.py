#!/usr/bin/env python3
"""Downloads a checkpoint with the hub's own client (huggingface_hub), and leaves it only whole.

  download-model --dir /models [--repo NAME] [--revision COMMIT]

Sizes are asked first and compared with the free disk; files come in parallel and resume where they stopped; sizes and
hashes of all files are checked at the end. While a download is under way the folder holds `.hearth-downloading`: nothing
is served from a folder that has it. HF_ENDPOINT and HF_TOKEN are obeyed by the client. Exit codes: 0 whole, 2 not.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
import threading
import time

os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # one line every few seconds says more in a log
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from huggingface_hub import HfApi, snapshot_download  # noqa: E402
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,  # noqa: E402
    RevisionNotFoundError,
)

IN_PROGRESS, RECORD = ".hearth-downloading", ".hearth-download.json"
CACHE = os.path.join(".cache", "huggingface", "download")
SPARE_BYTES = 1 << 30
REPAIRS = 2


class Refused(Exception):
    """The download cannot succeed; the text says why and what would help."""


def say(text):
    print(f"download: {text}", file=sys.stderr, flush=True)


def gigabytes(count):
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.2f} MB"


class Patience:
    """How often to try again: the count starts over whenever bytes have come."""

    def __init__(self, attempts, pause):
        self.attempts, self.pause = attempts, pause
        self.failures, self.best = 0, -1

    def failed(self, error, have):
        """Sleeps before the next attempt, or refuses."""
        if have > self.best:
            self.best, self.failures = have, 0
        self.failures += 1
        reason = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
        if self.failures >= self.attempts:
            raise Refused(
                f"{self.failures} attempts in a row failed without progress; the last: {reason}; "
                "start again to resume where it stopped"
            )
        pause = min(self.pause * 2 ** (self.failures - 1), 60.0)
        response = getattr(error, "response", None)
        after = response.headers.get("Retry-After") if response is not None else None
        if after and after.isdigit():
            pause = min(float(after), 300.0)
        say(f"attempt failed ({reason}); next one in {pause:.1f} s")
        time.sleep(pause)


def hopeless(error, args):
    """The refusal for an error that no further attempt can mend, else None."""
    where = f"{args.repo} at {os.environ.get('HF_ENDPOINT', 'https://huggingface.co')}"
    if isinstance(error, GatedRepoError):
        return f"{where} is gated: accept its terms there and set HF_TOKEN"
    if isinstance(error, RevisionNotFoundError):
        return f"{where} has no revision {args.revision}; set GLM53_MODEL_REVISION to one it has"
    if isinstance(error, RepositoryNotFoundError):
        return f"{where} does not exist or needs a token; check GLM53_MODEL_REPO and HF_TOKEN"
    response = getattr(error, "response", None)
    if isinstance(error, HfHubHTTPError) and response is not None and response.status_code in (401, 403):
        return f"{where} answers {response.status_code}: check HF_TOKEN"
    return None


def remote_files(args, patience):
    """-> commit, {name: (size, "sha256" or "git-sha1", digest)}"""
    while True:
        try:
            info = HfApi().model_info(args.repo, revision=args.revision, files_metadata=True, timeout=30)
        except (OSError, HfHubHTTPError) as error:
            if refusal := hopeless(error, args):
                raise Refused(refusal) from None
            patience.failed(error, 0)
            continue
        files = {}
        for entry in info.siblings:
            if entry.lfs is not None:
                files[entry.rfilename] = (entry.size, "sha256", entry.lfs.sha256)
            else:
                files[entry.rfilename] = (entry.size, "git-sha1", entry.blob_id)
        if "config.json" not in files or any(size is None for size, _, _ in files.values()):
            raise Refused(f"{args.repo} at {args.revision} is no checkpoint: no config.json, or files without a size")
        return info.sha, files


def incomplete_files(folder):
    """Yields (path, etag, bytes) of files under way."""
    for base, _, names in os.walk(os.path.join(folder, CACHE)):
        for name in names:
            if name.endswith(".incomplete"):
                size = size_of(base, name)  # the client renames a part once it is whole: it may be gone by now
                if size >= 0:
                    yield os.path.join(base, name), name.split(".")[-2], size


def bytes_there(folder, files):
    whole = sum(size for name, (size, _, _) in files.items() if size_of(folder, name) == size)
    return whole + sum(size for _, _, size in incomplete_files(folder))


def size_of(folder, name):
    try:
        return os.path.getsize(os.path.join(folder, name))
    except OSError:
        return -1


def drop_overlong(folder, files):
    """A part that is as long as its file or longer, and yet no file, cannot be resumed."""
    size_by_digest = {digest: size for size, _, digest in files.values()}
    for path, etag, size in list(incomplete_files(folder)):
        if size >= size_by_digest.get(etag, -1):
            os.remove(path)


def digest_of(path, kind, size):
    digest = hashlib.sha256() if kind == "sha256" else hashlib.sha1(b"blob %d\0" % size)
    with open(path, "rb") as f:
        while block := f.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


def wrong_files(folder, files):
    """-> [(name, what is wrong)]"""
    wrong = []
    for name, (size, kind, digest) in sorted(files.items()):
        have = size_of(folder, name)
        if have != size:
            wrong.append((name, f"has {have} bytes, expected {size}" if have >= 0 else "is missing"))
        elif digest_of(os.path.join(folder, name), kind, size) != digest:
            wrong.append((name, f"has another {kind} than the repository says"))
    return wrong


def forget(folder, name):
    for path in (os.path.join(folder, name), os.path.join(folder, CACHE, name + ".metadata")):
        if os.path.exists(path):
            os.remove(path)


class Progress(threading.Thread):
    def __init__(self, folder, files, every):
        super().__init__(daemon=True)
        self.folder, self.files, self.every, self.stop = folder, files, every, threading.Event()
        self.total = sum(size for size, _, _ in files.values())

    def run(self):
        last, last_at = bytes_there(self.folder, self.files), time.monotonic()
        while not self.stop.wait(self.every):
            have, now = bytes_there(self.folder, self.files), time.monotonic()
            rate = max(0.0, (have - last) / (now - last_at))
            left = f", {(self.total - have) / rate / 60:.0f} min left" if rate > 0 else ""
            say(
                f"{gigabytes(have)} of {gigabytes(self.total)}, {100 * have / max(1, self.total):.0f} %, "
                f"{rate / 1e6:.1f} MB/s{left}"
            )
            last, last_at = have, now


def check_disk(folder, files):
    need = sum(size for size, _, _ in files.values()) - bytes_there(folder, files) + SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < need:
        raise Refused(
            f"{folder} has {gigabytes(free)} free, but {gigabytes(need)} are needed; mount a larger disk there"
        )


def fetch(args, commit, files, patience):
    while True:
        try:
            snapshot_download(args.repo, revision=commit, local_dir=args.dir, max_workers=args.workers)
            if all(size_of(args.dir, name) == size for name, (size, _, _) in files.items()):
                return
            error = OSError("files are missing or short")
            for name, (size, _, _) in files.items():
                if size_of(args.dir, name) != size:
                    forget(args.dir, name)
        except Exception as caught:  # the client raises its own, requests' and the system's errors
            if refusal := hopeless(caught, args):
                raise Refused(refusal) from None
            error = caught
        drop_overlong(args.dir, files)
        patience.failed(error, bytes_there(args.dir, files))


def run(args):
    os.makedirs(args.dir, exist_ok=True)
    if not os.access(args.dir, os.W_OK):
        raise Refused(f"{args.dir} cannot be written by user {os.getuid()}; chown it, or mount another folder")
    commit, files = remote_files(args, Patience(args.attempts, args.pause))
    total = sum(size for size, _, _ in files.values())
    check_disk(args.dir, files)
    with open(os.path.join(args.dir, IN_PROGRESS), "w") as f:
        f.write(f"{args.repo} {commit}\n")
    say(f"{args.repo} at {commit}: {len(files)} files, {gigabytes(total)}, into {args.dir}")
    progress, patience = Progress(args.dir, files, args.every), Patience(args.attempts, args.pause)
    progress.start()
    try:
        for repair in range(REPAIRS + 1):
            fetch(args, commit, files, patience)
            say("checking sizes and hashes")
            wrong = wrong_files(args.dir, files)
            if not wrong:
                break
            for name, problem in wrong:
                say(f"{name} {problem}; removed")
                forget(args.dir, name)
            if repair == REPAIRS:
                raise Refused(
                    f"{wrong[0][0]} {wrong[0][1]}, {REPAIRS + 1} times over: the server or the way to it "
                    "damages files; try another HF_ENDPOINT"
                )
    finally:
        progress.stop.set()
    record = {
        "repo": args.repo,
        "revision": commit,
        "files": {name: {"size": size, kind: digest} for name, (size, kind, digest) in sorted(files.items())},
    }
    with open(os.path.join(args.dir, RECORD), "w") as f:
        json.dump(record, f, indent=1)
    os.remove(os.path.join(args.dir, IN_PROGRESS))
    say(f"whole: {len(files)} files, {gigabytes(total)}, sizes and hashes as the repository says")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--repo", default="turboderp/GLM-5.3-Flash-exl3")
    parser.add_argument("--revision", default="332ab457b709b7ba30dd9a448be5de03b80a7ac9", help="branch 3.05bpw")
    parser.add_argument("--workers", type=int, default=8, help="files at once")
    parser.add_argument("--attempts", type=int, default=8, help="failures in a row, without progress, that end it")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds before the second attempt; doubles")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between progress lines")
    args = parser.parse_args()
    try:
        run(args)
    except Refused as refusal:
        say(f"ERROR: {refusal}")
        return 2
    except KeyboardInterrupt:
        say("interrupted; start again to resume where it stopped")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
