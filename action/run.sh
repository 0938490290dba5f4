#!/bin/sh
# One run of remit in a job: plan, apply or drift, as the inputs say.
#
# What came from a branch, a server or a comment is never part of this script or of a command's words: inputs come in as
# variables, text goes through files. The run starts in the workspace so that annotations name files as GitHub knows them.
set -eu

fail() {
  printf '::error title=remit::%s\n' "$1"
  exit 1
}

cd "$GITHUB_WORKSPACE"
folder=$(mktemp -d "$RUNNER_TEMP/remit-XXXXXX")
here=${INPUT_WORKING_DIRECTORY:-.}

set --
while IFS= read -r file; do
  if [ -n "$file" ]; then set -- "$@" -f "$here/$file"; fi
done <<TEXT
${INPUT_FILE:-mcp.yaml}
TEXT
if [ -n "${INPUT_ENV:-}" ]; then set -- "$@" --env "$INPUT_ENV"; fi

# Whether the servers, the database and the files ask for nothing any more.
nothing_to_do() {
  "$REMIT" plan "$@" --detailed-exitcode > "$folder/rest.txt" 2>&1
}

plan() {
  code=0
  if [ "${INPUT_TRUSTED:-false}" = true ]; then trust=; else trust=--untrusted; fi
  # shellcheck disable=SC2086 (one flag or none)
  "$REMIT" plan "$@" $trust --format github --out "$folder/plan.json" --summary "$folder/summary.json" || code=$?
  if [ -f "$folder/plan.json" ]; then
    "$REMIT" show "$folder/plan.json" --format markdown > "$folder/plan.md"
    printf 'plan=%s\nmarkdown=%s\n' "$folder/plan.json" "$folder/plan.md" >> "$GITHUB_OUTPUT"
  fi
  # 4: what a branch may not ask stays unknown here, and the outputs say `incomplete`.
  if [ "$code" = 4 ]; then code=0; fi
  return "$code"
}

apply_digest() {
  digest=$1
  shift
  code=0
  "$REMIT" apply "$@" --approve-digest "$digest" --format github --summary "$folder/summary.json" || code=$?
  # A job that is run again finds its work done.
  if [ "$code" = 5 ] && nothing_to_do "$@"; then
    echo 'remit: there is nothing left to do'
    code=0
  fi
  return "$code"
}

apply_reviewed() {
  code=0
  digest=$("$REMIT" ci digest "$@" --author "$INPUT_COMMENT_AUTHOR") || code=$?
  case $code in
    0) apply_digest "$digest" "$@" ;;
    3)
      nothing_to_do "$@" || fail 'nobody reviewed a plan of this commit; look at one, then run apply with its digest as `approve`'
      echo 'remit: no plan was reviewed, and there is nothing to do'
      ;;
    *) return "$code" ;;
  esac
}

apply() {
  case $GITHUB_EVENT_NAME in
    pull_request* | merge_group | issue_comment) fail 'apply runs on what was merged, not on a branch' ;;
  esac
  case ${INPUT_APPROVE:-reviewed} in
    reviewed) apply_reviewed "$@" ;;
    auto) "$REMIT" apply "$@" --auto-approve --format github --summary "$folder/summary.json" ;;
    sha256:*) apply_digest "$INPUT_APPROVE" "$@" ;;
    *) fail 'the input `approve` is reviewed, auto, or the digest of a plan' ;;
  esac
}

case $INPUT_COMMAND in
  plan) plan "$@" ;;
  apply) apply "$@" ;;
  drift) "$REMIT" drift "$@" --format github --summary "$folder/summary.json" ;;
  *) fail 'the input `command` is plan, apply or drift' ;;
esac
