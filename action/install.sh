#!/bin/sh
# Installs remit from the action's own code into an environment of its own, and puts nothing on the PATH.
#
# -I and another folder: python takes modules from the folder it is started in, and in the checkout those are the branch's.
set -eu

cd "$RUNNER_TEMP"
python3 -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo '::error title=remit::remit needs Python 3.11 or later; use actions/setup-python before this step'
  exit 1
}

# What is kept between jobs is found again by this very code, these requirements and this Python only.
identity=$(python3 -I "$REMIT_SOURCE/action/identity.py")
venv=${REMIT_VENV:-$RUNNER_TEMP/remit-venv}/$identity

install() {
  "$venv/bin/python" -I -m pip install --quiet --disable-pip-version-check --no-deps "$@"
}

if [ ! -f "$venv/complete" ]; then
  python3 -I -m venv "$venv"
  # Neither step resolves anything: the first takes each version as it is written, the second builds with what is there.
  install -r "$REMIT_SOURCE/action/requirements.txt"
  install --no-index --no-build-isolation "$REMIT_SOURCE"
  "$venv/bin/python" -I -m pip check
  : > "$venv/complete"
fi

if [ -n "${INPUT_VERSION:-}" ] && [ "$("$venv/bin/remit" --version)" != "remit, version $INPUT_VERSION" ]; then
  echo '::error title=remit::the code of the action has another version than the input `version` says'
  exit 1
fi
printf 'remit=%s\n' "$venv/bin/remit" >> "$GITHUB_OUTPUT"
