#!/usr/bin/env bash
# Lints deploy/kubernetes offline: every object against the schema of its kind, and a few rules of our own. Needs no cluster.
#   scripts/test_kubernetes.sh
set -euo pipefail
cd "$(dirname "$0")/.."
requirements=tests/requirements-kubernetes.txt
if ! cmp -s $requirements .venv-kubernetes/requirements.txt; then
  rm -rf .venv-kubernetes
  python3 -m venv .venv-kubernetes
  .venv-kubernetes/bin/pip install --quiet --disable-pip-version-check -r $requirements
  cp $requirements .venv-kubernetes/requirements.txt
fi
exec .venv-kubernetes/bin/python3 tests/kubernetes/lint.py deploy/kubernetes/hearth.yaml
