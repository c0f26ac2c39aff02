#!/usr/bin/env bash
# The checkpoint's download against a server that misbehaves; about two minutes. Sets up an environment of its own with the
# packages that the images use (deploy/images/requirements-download.txt).
#   scripts/test_download.sh
set -euo pipefail
cd "$(dirname "$0")/.."
requirements=deploy/images/requirements-download.txt
if ! cmp -s $requirements .venv-download/requirements.txt; then
  rm -rf .venv-download
  python3 -m venv .venv-download
  .venv-download/bin/pip install --quiet --disable-pip-version-check -r $requirements
  cp $requirements .venv-download/requirements.txt
fi
exec .venv-download/bin/python3 -m unittest discover -v -s tests/download
