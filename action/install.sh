#!/bin/sh
# Installs remit from the action's own code into an environment of its own, and puts nothing on the PATH.
#
# -I and another folder: python takes modules from the folder it is started in, and in the checkout those are the branch's.
set -eu

venv=${REMIT_VENV:-$RUNNER_TEMP/remit-venv}
cd "$RUNNER_TEMP"

if [ ! -x "$venv/bin/remit" ]; then
  python3 -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo '::error title=remit::remit needs Python 3.11 or later; use actions/setup-python before this step'
    exit 1
  }
  python3 -I -m venv "$venv"
  "$venv/bin/python" -I -m pip install --quiet --disable-pip-version-check "$REMIT_SOURCE"
fi

if [ -n "${INPUT_VERSION:-}" ] && [ "$("$venv/bin/remit" --version)" != "remit, version $INPUT_VERSION" ]; then
  echo '::error title=remit::the code of the action has another version than the input `version` says'
  exit 1
fi
printf 'remit=%s\n' "$venv/bin/remit" >> "$GITHUB_OUTPUT"
