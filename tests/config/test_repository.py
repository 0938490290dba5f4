"""One name for one remote, whoever clones it and however; never a user, a password or a token."""

from pathlib import Path

import pytest

from remit.config.repository import remote_name_of

ROOT = Path("/srv/checkout")


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("https://github.com/acme/ops.git", "github.com/acme/ops"),
        ("https://github.com/acme/ops/", "github.com/acme/ops"),
        ("https://user:dummy-secret-value@GitHub.com:443/acme/ops.git", "github.com/acme/ops"),
        ("https://dummy-secret-value@github.com/acme/ops", "github.com/acme/ops"),
        ("https://git.example.com:8443/acme/ops.git?token=dummy-secret-value#x", "git.example.com:8443/acme/ops"),
        ("git@github.com:acme/ops.git", "github.com/acme/ops"),
        ("github.com:acme/ops.git", "github.com/acme/ops"),
        ("ssh://git@github.com/acme/ops.git", "github.com/acme/ops"),
        ("ssh://git@github.com:22/acme/ops.git", "github.com/acme/ops"),
        ("ssh://git@github.com:2222/acme/ops.git", "github.com:2222/acme/ops"),
        ("https://[2001:db8::1]/acme/ops.git", "[2001:db8::1]/acme/ops"),
        ("https://git.example.com:port/acme/ops.git", "git.example.com:port/acme/ops"),
        ("file:///srv/git/ops.git", "/srv/git/ops"),
        ("/srv/git/ops.git", "/srv/git/ops"),
        ("../ops.git", "/srv/ops"),
    ],
)
def test_a_remote_has_one_name(remote: str, name: str) -> None:
    assert remote_name_of(remote, ROOT) == name
