from pathlib import Path

import pytest

from remit.core.desired import BearerAuth, ClientCredentialsAuth, Tls
from remit.core.identity import HttpEndpoint, StdioEndpoint, Transport
from remit.upstream.references import ResolvedHttp, ResolvedStdio, Sources, Unresolved, resolve_connection
from tests.upstream.support import SECRET, server, sources


def test_values_of_the_environment_are_put_in_and_collected_for_masking(tmp_path: Path):
    endpoint = StdioEndpoint(("{python}", "-m", "it", "--key=${env:KEY}", "$$HOME"), cwd="sub")
    found = resolve_connection(
        server(endpoint, env={"A": "${env:KEY}", "B": "${env:SHORT}", "C": "${env:GONE:-a default}"}),
        Sources(environ={"KEY": SECRET, "SHORT": "abc"}, base_dir=tmp_path, python="/usr/bin/python3"),
    )
    assert found.endpoint == ResolvedStdio(
        command=("/usr/bin/python3", "-m", "it", f"--key={SECRET}", "$HOME"),
        env={"A": SECRET, "B": "abc", "C": "a default"},
        cwd=tmp_path / "sub",
    )
    assert found.secrets == {SECRET}


def test_no_repr_shows_a_value():
    given = sources({"IT": SECRET})
    found = resolve_connection(
        server("https://it.example/mcp?k=${env:IT}", headers={"X": "${env:IT}"}, auth=BearerAuth(token="${env:IT}")),
        given,
    )
    assert SECRET not in repr(found) + repr(given) + repr(found.endpoint)


def test_values_in_a_url_are_percent_encoded_so_that_they_stay_data():
    found = resolve_connection(
        server(
            HttpEndpoint("https://it.example/${env:PART}/mcp?k=${env:PART}", Transport.SSE), tls=Tls(ca_file="ca.pem")
        ),
        Sources(environ={"PART": "../a?b#c@d"}, base_dir=Path("/etc/remit"), python="python"),
    )
    assert found.endpoint == ResolvedHttp(
        url="https://it.example/..%2Fa%3Fb%23c%40d/mcp?k=..%2Fa%3Fb%23c%40d",
        transport=Transport.SSE,
        headers={},
        auth=None,
        tls=Tls(ca_file="/etc/remit/ca.pem"),
        allow_private_network=False,
    )


def test_credentials_are_masked_also_where_they_are_literal():
    auth = ClientCredentialsAuth(token_url="https://it.example/token", client_id="remit", client_secret="dummy-literal")
    assert resolve_connection(server("https://it.example/mcp", auth=auth), sources()).secrets == {"dummy-literal"}


def test_a_file_loses_one_trailing_newline(tmp_path: Path):
    (tmp_path / "token").write_text("dummy-from-file\n\n")
    found = resolve_connection(
        server("https://it.example/mcp", headers={"X": "${file:token}"}), sources(base_dir=tmp_path)
    )
    assert isinstance(found.endpoint, ResolvedHttp)
    assert found.endpoint.headers == {"X": "dummy-from-file\n"}


def test_files_below_a_secret_folder_are_allowed(tmp_path: Path):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "token").write_text("dummy-from-file")
    (tmp_path / "config").mkdir()
    environ = {"REMIT_SECRET_DIRS": f"/nowhere:{tmp_path / 'secrets'}"}
    found = resolve_connection(
        server("https://it.example/mcp", headers={"X": f"${{file:{tmp_path}/secrets/token}}"}),
        sources(environ, base_dir=tmp_path / "config"),
    )
    assert isinstance(found.endpoint, ResolvedHttp)
    assert found.endpoint.headers == {"X": "dummy-from-file"}


def test_a_file_elsewhere_is_refused_also_through_a_symlink(tmp_path: Path):
    (tmp_path / "outside").write_text(SECRET)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "link").symlink_to(tmp_path / "outside")
    for path in ("link", "../outside", str(tmp_path / "outside")):
        with pytest.raises(Unresolved) as caught:
            resolve_connection(
                server("https://it.example/mcp", headers={"Authorization": f"Bearer ${{file:{path}}}"}),
                sources(base_dir=tmp_path / "config"),
            )
        assert str(caught.value) == (
            f"headers.Authorization: the file {path} lies outside the config's folder, /run/secrets and REMIT_SECRET_DIRS"
        )


def test_a_failure_names_the_field_and_the_file_and_never_a_value(tmp_path: Path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe" + SECRET.encode())
    (tmp_path / "folder").mkdir()
    problems: list[str] = []
    for path in ("missing", "binary", "folder"):
        with pytest.raises(Unresolved) as caught:
            resolve_connection(server("https://it.example/${file:" + path + "}"), sources(base_dir=tmp_path))
        problems.append(str(caught.value))
    assert problems == [
        "url: the file missing cannot be read (No such file or directory)",
        "url: the file binary is not UTF-8 text",
        "url: the file folder cannot be read (Is a directory)",
    ]


def test_an_empty_variable_counts_as_unset():
    with pytest.raises(Unresolved) as caught:
        resolve_connection(server("https://it.example/mcp", auth=BearerAuth(token="${env:IT}")), sources({"IT": ""}))
    assert str(caught.value) == "auth.token: the environment variable IT is set to nothing"
