#!/usr/bin/env python3
"""Checks Kubernetes manifests without a cluster: schemas, and what the containers must have.

lint.py FILE.yaml ..      needs kubernetes-validate (tests/requirements-kubernetes.txt)
"""

import sys

import kubernetes_validate
import yaml


def problems_of(documents):
    """-> [text]"""
    problems, kinds = [], {d["kind"]: d for d in documents}
    version = kubernetes_validate.latest_version()
    for document in documents:
        name = f"{document['kind']}/{document['metadata']['name']}"
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            problems.append(f"{name}: {'.'.join(map(str, error.path))}: {error.message}")
    pod = kinds["Deployment"]["spec"]["template"]["spec"]
    volumes = {v["name"] for v in pod["volumes"]}
    claims = {d["metadata"]["name"] for d in documents if d["kind"] == "PersistentVolumeClaim"}
    for volume in pod["volumes"]:
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim and claim not in claims:
            problems.append(f"volume {volume['name']}: no claim {claim}")
    ports = set()
    for container in pod["containers"]:
        where = f"container {container['name']}"
        ports |= {p["name"] for p in container["ports"]}
        if "memory" not in container["resources"].get("limits", {}):
            problems.append(f"{where}: no memory limit")
        if "livenessProbe" not in container:
            problems.append(f"{where}: no liveness probe")
        if not container["securityContext"].get("readOnlyRootFilesystem"):
            problems.append(f"{where}: the root file system is not read-only")
        problems += [f"{where}: no volume {m['name']}" for m in container["volumeMounts"] if m["name"] not in volumes]
    if not {"gpu-worker", "cpu-tier", "gateway"} <= {c["name"] for c in pod["containers"]}:
        problems.append("one of the three processes is missing")
    problems += [
        f"service port {p['name']}: no container port {p['targetPort']}"
        for p in kinds["Service"]["spec"]["ports"]
        if p["targetPort"] not in ports
    ]
    # The home must lie in memory, and in the limit of who writes it.
    home = next(v["emptyDir"] for v in pod["volumes"] if v["name"] == "home")
    if home.get("medium") != "Memory":
        problems.append("volume home: not in memory")
    worker = next(c for c in pod["containers"] if c["name"] == "gpu-worker")
    if gibibytes(worker["resources"]["limits"]["memory"]) < gibibytes(home["sizeLimit"]) + 4:
        problems.append("container gpu-worker: its memory limit must hold the home and 4 GiB")
    selector = kinds["Deployment"]["spec"]["selector"]["matchLabels"]
    labels = kinds["Deployment"]["spec"]["template"]["metadata"]["labels"]
    if not selector.items() <= labels.items() or not kinds["Service"]["spec"]["selector"].items() <= labels.items():
        problems.append("selectors do not meet the pod's labels")
    return problems


def gibibytes(text):
    if not text.endswith("Gi"):
        sys.exit(f"{text}: expected Gi")
    return int(text[:-2])


def main():
    failed = False
    for path in sys.argv[1:]:
        with open(path) as f:
            documents = [d for d in yaml.safe_load_all(f) if d]
        problems = problems_of(documents)
        for problem in problems:
            print(f"{path}: {problem}")
        if not problems:
            print(f"{path}: {len(documents)} objects, schema {kubernetes_validate.latest_version()}: good")
        failed = failed or bool(problems)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
