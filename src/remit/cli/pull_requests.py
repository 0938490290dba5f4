"""Comments on pull requests, through the API of GitHub: the one of a plan, found again by its marker and replaced.

Decides which comment is ours: one of the account that the workflow comments as, that begins with the marker. Anybody may write a
comment with the marker in it, and could edit the plan in it afterwards. Text goes out as the body of a request and comes in
as data; a token goes to the API that the runner names and nowhere else.
"""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

from remit.errors import UpstreamError, UsageError
from remit.render.markdown import marker_of

__all__ = ["DEFAULT_AUTHOR", "Api", "Comment", "Event", "api_of", "event_of", "own_comment"]

DEFAULT_AUTHOR = "github-actions[bot]"
"""Who comments with the token that a workflow is given. No person can have a name with brackets."""

_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
_SECONDS = 30
_MOST_BYTES = 20 * 1024 * 1024
_PAGE, _MOST_PAGES = 100, 50
_EVENT_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a pull request."""

    number: int
    author: str
    body: str


@dataclass(frozen=True, slots=True)
class Event:
    """What a workflow run is about: the pull request, if it is about one, and whether its branch is another repository's."""

    pull: int | None
    is_fork: bool


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to wherever it leads."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Api:
    """The API for one repository, `owner/name`."""

    url: str
    repository: str
    token: str = field(repr=False)

    def comments(self, pull: int) -> Iterator[Comment]:
        """All comments of a pull request, oldest first. Raises UpstreamError."""
        for page in range(1, _MOST_PAGES + 1):
            entries = _objects(self._ask("GET", f"issues/{pull}/comments?per_page={_PAGE}&page={page}"))
            for entry in entries:
                user = _object(entry.get("user"))
                yield Comment(int(entry.get("id") or 0), str(user.get("login") or ""), str(entry.get("body") or ""))
            if len(entries) < _PAGE:
                return

    def write(self, pull: int, body: str) -> None:
        """Add a comment. Raises UpstreamError."""
        self._ask("POST", f"issues/{pull}/comments", {"body": body})

    def replace(self, comment: Comment, body: str) -> None:
        """Give a comment another text. Raises UpstreamError."""
        self._ask("PATCH", f"issues/comments/{comment.number}", {"body": body})

    def merged_as(self, commit: str, branch: str | None) -> int | None:
        """The pull request that a commit came from, merged into a branch (None: any); the latest, if several."""
        found = [
            (str(each["merged_at"]), int(each.get("number") or 0))
            for each in _objects(self._ask("GET", f"commits/{commit}/pulls?per_page={_PAGE}"))
            if each.get("merged_at") and branch in (None, _object(each.get("base")).get("ref"))
        ]
        return max(found)[1] if found else None

    def _ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> object:
        request = urllib.request.Request(  # noqa: S310 (api_of allows http and https only)
            f"{self.url}/repos/{self.repository}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
                "Content-Type": "application/json",
                "User-Agent": "remit",
            },
        )
        try:
            with urllib.request.build_opener(_NoRedirect()).open(request, timeout=_SECONDS) as answer:
                return json.loads(answer.read(_MOST_BYTES))
        except urllib.error.HTTPError as error:
            raise _refused(method, path, f"answered with status {error.code}") from error
        except (OSError, HTTPException) as error:
            raise _refused(method, path, f"did not answer ({type(error).__name__})") from error
        except ValueError as error:
            raise _refused(method, path, "answered with something that is no JSON") from error


def _refused(method: str, path: str, how: str) -> UpstreamError:
    return UpstreamError(
        f"the API {how}",
        code="github-api",
        place=f"{method} {path.partition('?')[0]}",
        hint="the job needs `permissions: {contents: read, pull-requests: write}`, and the step its token",
    )


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [_object(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def api_of(environ: Mapping[str, str]) -> Api:
    """The API that the runner names: GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN or GH_TOKEN. Raises UsageError."""
    url = environ.get("GITHUB_API_URL") or "https://api.github.com"
    repository = environ.get("GITHUB_REPOSITORY", "")
    token = environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN") or ""
    parts = urlsplit(url)
    local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise UsageError("the URL of the API must begin with https://", place="GITHUB_API_URL")
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError("this is not OWNER/NAME", place="GITHUB_REPOSITORY", hint="a workflow run has it set")
    if not token:
        raise UsageError("there is no token", place="GITHUB_TOKEN", hint="pass `${{ github.token }}` in the step's env")
    return Api(url.rstrip("/"), repository, token)


def event_of(environ: Mapping[str, str]) -> Event:
    """The event of a workflow run, from the file that GITHUB_EVENT_PATH names; empty where there is none."""
    path = environ.get("GITHUB_EVENT_PATH")
    try:
        text = "" if not path else Path(path).read_text("utf-8")[:_EVENT_BYTES]
        event = _object(json.loads(text) if text else None)
    except (OSError, ValueError):
        return Event(None, is_fork=False)
    pull = _object(event.get("pull_request"))
    number = pull.get("number")
    head, base = (_object(_object(pull.get(side)).get("repo")).get("full_name") for side in ("head", "base"))
    return Event(number if isinstance(number, int) else None, is_fork=head != base)


def own_comment(api: Api, pull: int, author: str, marker: str) -> Comment | None:
    """The oldest comment of an account that begins with a marker. Raises UpstreamError."""
    return next((each for each in api.comments(pull) if each.author == author and marker_of(each.body) == marker), None)
