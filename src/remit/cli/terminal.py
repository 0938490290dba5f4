"""The two streams of a run: results on stdout, everything else on stderr, colour only where a person is looking.

Decides whether there is a person to ask. Nothing but results ever goes to stdout, so that `--format json` stays JSON.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remit.errors import NotApproved, OutputUnwritable, RemitError

if TYPE_CHECKING:
    from remit.core.diagnostics import Diagnostic

__all__ = ["Terminal"]

_DEFAULT_WIDTH = 100
_NARROWEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """How this run may talk. `interactive` means that a person can be asked, `width` is in columns."""

    colour: bool
    error_colour: bool
    interactive: bool
    width: int

    @classmethod
    def of(cls, *, colour: bool) -> "Terminal":
        """The terminal of this process; `colour` False (or NO_COLOR) turns colour off everywhere."""
        wanted = colour and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(
            colour=wanted and sys.stdout.isatty(),
            error_colour=wanted and sys.stderr.isatty(),
            interactive=sys.stdin.isatty() and sys.stderr.isatty(),
            width=_width(),
        )

    def result(self, text: str) -> None:
        """Print a result on stdout. A reader that left (`| head`) ends the output, not the run. Raises OutputUnwritable."""
        try:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            sys.stdout.flush()
        except OSError as error:
            # What could not be written stays in the buffer, and the interpreter would fail over it again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                return
            raise OutputUnwritable(
                f"the output cannot be written: {error.strerror}", place="stdout", hint="make room, then run it again"
            ) from error

    def document(self, document: Any) -> None:
        """Print a JSON document on stdout, alone; safe in the log of a CI job too."""
        import json

        from remit.render.escape import harmless_json

        self.result(harmless_json(json.dumps(document, indent=2, ensure_ascii=True)))

    def note(self, text: str) -> None:
        """Tell a person something, on stderr."""
        sys.stderr.write(text if text.endswith("\n") else text + "\n")
        sys.stderr.flush()

    def diagnose(self, diagnostics: Sequence["Diagnostic"]) -> None:
        """Show diagnostics on stderr."""
        from remit.render.diagnostics import diagnostics_text

        if diagnostics:
            self.note(diagnostics_text(diagnostics, colour=self.error_colour))

    def annotate(self, diagnostics: Sequence["Diagnostic"]) -> None:
        """Show diagnostics as workflow commands of GitHub Actions, on stdout: the runner reads both streams."""
        from remit.render.github import annotation_lines, diagnostic_annotations

        for line in annotation_lines(diagnostic_annotations(diagnostics)):
            self.result(line)

    def fail(self, error: RemitError) -> None:
        """Show an error on stderr."""
        from remit.render.diagnostics import error_text

        self.note(error_text(error, colour=self.error_colour))

    def ask(self, question: str) -> bool:
        """Whether a person answers `yes`, in full. Raises NotApproved where there is nobody to ask."""
        if not self.interactive:
            raise NotApproved("nobody is there to approve", hint="run it on a terminal")
        sys.stderr.write(f"{question} Only 'yes' is accepted: ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
        return answer.strip() == "yes"


def _width() -> int:
    try:
        return max(_NARROWEST, os.get_terminal_size(sys.stderr.fileno()).columns)
    except OSError:
        return _DEFAULT_WIDTH
