"""Redirects of a server: none is followed, whatever is asked and wherever it leads.

Decides what is said of one. The address in mcp.yaml is the one that was reviewed, and identity, approvals and listings are
bound to it, its path included (DESIGN.md section 2): a listing from another path would be that of another server, and a call
that is posted again may be carried out twice (section 3). So a person writes the address down, or the server stops.
"""

from collections.abc import Mapping
from http import HTTPStatus

import httpx2

__all__ = ["REDIRECTED", "redirect_words"]

REDIRECTED = "redirected"
"""The code of a request that was answered with a redirect: nobody knows what became of it, and again it would be the same."""

_SHOWN = 200
"""Characters of a target that are shown."""


def redirect_words(url: httpx2.URL, status: int, headers: Mapping[str, str], *, setting: str | None) -> str | None:
    """What to say of an answer that leads elsewhere, with the target less its credentials, query and fragment.

    None for an answer that is no redirect. `setting` is where mcp.yaml has the address `url`, None where the server itself named it.
    """
    if not HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST or "location" not in headers:
        return None
    redirects = f"the server redirects ({status})"
    try:
        target = url.join(headers["location"]).copy_with(userinfo=b"", query=None, fragment=None)
    except httpx2.InvalidURL:
        return f"{redirects} to what is no address; redirects are not followed"
    shown = str(target)[:_SHOWN]
    if target == url.copy_with(userinfo=b"", query=None, fragment=None):
        return f"{redirects} to the address that was asked, {shown}; redirects are not followed"
    told = f"{redirects} to {shown}; redirects are not followed"
    if setting is None:
        return f"{told}: its event stream has to name that address itself"
    if target.scheme not in ("http", "https") or len(str(target)) > _SHOWN:
        return told
    return f"{told}: if that is the server you mean, write `{setting}: {_written(url, target)}` into mcp.yaml"


def _written(url: httpx2.URL, target: httpx2.URL) -> httpx2.URL:
    """The target as it is to be written: one that gives up TLS is what a server says that does not know of its own proxy."""
    if url.scheme == "https" and target.scheme == "http" and target.host == url.host:
        return target.copy_with(scheme="https", port=url.port)
    return target
