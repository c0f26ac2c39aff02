#!/usr/bin/env python3
"""Writes deploy/compose/.env from the binaries' own lists of options.

  make_env.py [BIN_DIR] [--check]      default build/release/bin; --check only compares

Options that compose.yaml gives as flags (addresses and folders inside the containers) are left out of the list, since a
flag beats a variable; the file says which they are.
"""

import difflib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.path.join(ROOT, "deploy", "compose", ".env")
PROCESSES = (("gpu-worker", "gpu_worker"), ("cpu-tier", "cpu_tier"), ("gateway", "gateway"))
IN_IMAGE = {"HEARTH_MODEL": "/opt/hearth/models/hearth-tiny"}  # /models with compose.gpu.yaml

HEAD = """\
# Settings of deploy/compose. Made by scripts/make_env.py from the processes' own lists of options; a test compares.
# A line without # is in effect; every other shows a default. Compose reads the file for ${..} in its files, and passes it
# to each process, which takes the variables it knows. An empty value counts as unset. docs/config.md explains more.

# ---------------------------------------------------------------- what is started
# cpu: hearth-tiny without a GPU. For the real model on a GPU:
#   COMPOSE_PROFILES=gpu
#   COMPOSE_FILE=compose.yaml:compose.gpu.yaml
# Grafana as well: COMPOSE_PROFILES=cpu,grafana
COMPOSE_PROFILES=cpu
COMPOSE_FILE=compose.yaml

# ---------------------------------------------------------------- of the compose files
# Published addresses. Anything but 127.0.0.1 opens the API to the network: then set HEARTH_API_KEY too.
#HEARTH_HTTP_BIND=127.0.0.1
#HEARTH_HTTP_PORT=30000
#HEARTH_PROMETHEUS_PORT=9090
#HEARTH_GRAFANA_PORT=3000
#HEARTH_GRAFANA_PASSWORD=hearth
#HEARTH_GRAFANA_IMAGE=grafana/grafana:11.6.1
# Tag of the images, and the network that builds use (host where a bridge has no way out).
#HEARTH_IMAGE_TAG=local
#HEARTH_BUILD_NETWORK=default
# Limits. The worker's pays for the expert home: the first without, the second with compose.gpu.yaml.
#HEARTH_WORKER_MEMORY=3g
#HEARTH_GPU_WORKER_MEMORY=122g
#HEARTH_TIER_MEMORY=1g
#HEARTH_GATEWAY_MEMORY=1g
# The tmpfs of the cpu profile; with compose.gpu.yaml it is the host's /run/hearth.
#HEARTH_HOME_SIZE=256m
# Locked memory, -1 is no limit. Where Docker itself may not raise it: bytes, which is what
# `ulimit -Hl` shows (KiB) times 1024.
#HEARTH_MEMLOCK=-1
# Folder of the checkpoint (compose.gpu.yaml); an empty one is filled.
#HEARTH_MODELS=/srv/hearth/models

# ---------------------------------------------------------------- of the image's entrypoint
#GLM53_MODEL_REPO=turboderp/GLM-5.3-Flash-exl3
#GLM53_MODEL_REVISION=332ab457b709b7ba30dd9a448be5de03b80a7ac9
# 0: never download.
#GLM53_MODEL_DOWNLOAD=1
#HF_ENDPOINT=https://huggingface.co
#HF_TOKEN=
# warn: start even when a check of the machine refuses.
#HEARTH_PREFLIGHT=strict
# Further flags of the worker, one line.
#GLM53_ARGS=

# ---------------------------------------------------------------- of the processes
# compose.yaml kills the worker 30 s and the gateway 40 s after they were told to end (stop_grace_period): a longer
# HEARTH_DRAIN_TIMEOUT than that has no effect alone.
"""


def rows(binary):
    """-> (flag, default, variables, meaning) of each option, from the table that the process prints for docs/config.md."""
    text = subprocess.run(
        [binary, "--print-config-markdown"], capture_output=True, text=True, check=True, env={}
    ).stdout
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and cells[0].startswith("`--"):
            flag = cells[0].split(",")[0].strip("`")
            yield flag, cells[2].strip("`"), [v.strip(" `") for v in cells[3].split(",")], cells[4]


def fixed_flags(service):
    """The flags that compose.yaml gives a service."""
    with open(os.path.join(ROOT, "deploy", "compose", "compose.yaml")) as f:
        text = f.read()
    block = re.search(rf"^  {service}:\n(.*?)(?=^  \w|^\w)", text, re.S | re.M).group(1)
    command = re.search(r"command: \[(.*?)\]", block, re.S).group(1)
    return [word for word in re.findall(r'"([^"]*)"', command) if word.startswith("--")]


def make(bin_dir):
    lines, seen = [HEAD], {}
    for binary, service in PROCESSES:
        fixed = fixed_flags(service)
        lines.append(f"# ---------------------------------------------------------------- {service}")
        lines.append(f"# Given by compose.yaml: {' '.join(fixed)}")
        for flag, default, variables, meaning in rows(os.path.join(bin_dir, f"hearth-{binary}")):
            if flag in fixed:
                continue
            name = variables[0]
            if name in seen:
                lines.append(f"# {name} is above, with {seen[name]}: it counts here too. {meaning}")
                continue
            seen[name] = service
            others = f" (also {', '.join(variables[1:])})" if len(variables) > 1 else ""
            lines.append(f"# {meaning}{others}")
            lines.append(f"#{name}={IN_IMAGE.get(name, '' if default == 'empty' else default)}")
        lines.append("")
    return "\n".join(lines)


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    text = make(words[0] if words else os.path.join(ROOT, "build", "release", "bin"))
    if "--check" in sys.argv:
        with open(TARGET) as f:
            have = f.read()
        sys.stdout.writelines(
            difflib.unified_diff(have.splitlines(True), text.splitlines(True), "deploy/compose/.env", "made")
        )
        if have != text:
            sys.exit("make_env: deploy/compose/.env is stale; run scripts/make_docs.sh")
        return
    with open(TARGET, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main()
