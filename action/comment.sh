#!/bin/sh
# The plan as the one comment of its workspace and environment on the pull request. The text goes by file.
set -eu

"$REMIT" ci comment --file "$MARKDOWN" --author "$INPUT_COMMENT_AUTHOR"
