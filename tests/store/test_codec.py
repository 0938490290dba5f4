from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.canonical import Json
from remit.core.desired import (
    BearerAuth,
    ClientCredentialsAuth,
    Connection,
    PrivateKeyJwtAuth,
    ProtocolPin,
    Tls,
)
from remit.core.identity import HttpEndpoint, StdioEndpoint, Transport
from remit.core.live import Era, Listed, Quarantine, QuarantineReason, ServerIdentity
from remit.core.operations import ServerFacts
from remit.errors import StoreError
from remit.store import codec, texts

ANY_TEXT = st.text(st.characters(), max_size=20)
PLAIN = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)
MAPS = st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=3)
SCOPES = st.lists(ANY_TEXT, max_size=3).map(tuple)
AUTHS = st.one_of(
    st.none(),
    st.builds(BearerAuth, token=ANY_TEXT),
    st.builds(ClientCredentialsAuth, token_url=ANY_TEXT, client_id=ANY_TEXT, client_secret=ANY_TEXT, scopes=SCOPES),
    st.builds(
        PrivateKeyJwtAuth,
        token_url=ANY_TEXT,
        client_id=ANY_TEXT,
        private_key=ANY_TEXT,
        key_id=st.none() | ANY_TEXT,
        scopes=SCOPES,
    ),
)
SECONDS = st.floats(min_value=0.001, max_value=1e6)
CONNECTIONS = st.builds(
    Connection,
    env=MAPS,
    headers=MAPS,
    auth=AUTHS,
    tls=st.none() | st.builds(Tls, ca_file=st.none() | ANY_TEXT, client_cert=ANY_TEXT, client_key=ANY_TEXT),
    protocol=st.sampled_from(ProtocolPin),
    timeout_seconds=SECONDS,
    call_timeout_seconds=SECONDS,
    start_timeout_seconds=SECONDS,
    allow_private_network=st.booleans(),
)
ENDPOINTS = st.one_of(
    st.builds(HttpEndpoint, PLAIN, st.sampled_from([Transport.SSE, Transport.STREAMABLE_HTTP])),
    st.builds(StdioEndpoint, st.lists(ANY_TEXT, min_size=1, max_size=4).map(tuple), st.none() | PLAIN),
)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(endpoint=ENDPOINTS, connection=CONNECTIONS)
def test_a_registration_comes_back_as_it_was_written(
    endpoint: HttpEndpoint | StdioEndpoint, connection: Connection
) -> None:
    facts = ServerFacts(name="a", namespace="a", endpoint=endpoint, instance=None, connection=connection, enabled=True)
    try:
        row = codec.registration_columns(facts)
    except UnicodeEncodeError:
        assert isinstance(endpoint, StdioEndpoint)  # hashing its command refuses lone surrogates before we do
        return
    assert codec.endpoint_from(row["transport"], row["normalized_url"], row["command"], row["cwd"]) == endpoint
    assert codec.connection_from(row["connection"], row["timeout_seconds"]) == connection


def test_a_reference_is_stored_as_written() -> None:
    connection = Connection(headers={"Authorization": "Bearer ${env:TICKETS_TOKEN}"})
    facts = ServerFacts(
        name="a", namespace="a", endpoint=HttpEndpoint("https://a/"), instance=None, connection=connection, enabled=True
    )
    assert '"Bearer ${env:TICKETS_TOKEN}"' in codec.registration_columns(facts)["connection"]


@given(
    instructions=st.none() | ANY_TEXT,
    capabilities=st.dictionaries(ANY_TEXT, JSON, max_size=3),
    identity=st.none() | st.builds(ServerIdentity, name=ANY_TEXT, version=ANY_TEXT),
    quarantined=st.lists(
        st.builds(Quarantine, remote_name=ANY_TEXT, reason=st.sampled_from(QuarantineReason), detail=ANY_TEXT),
        max_size=3,
    ).map(tuple),
)
def test_whatever_a_server_says_of_itself_comes_back_and_fits_both_engines(
    instructions: str | None,
    capabilities: dict[str, Json],
    identity: ServerIdentity | None,
    quarantined: tuple[Quarantine, ...],
) -> None:
    listed = Listed(
        tools=(),
        quarantined=quarantined,
        era=Era.LEGACY,
        protocol_version="2025-11-25",
        server_info=identity,
        capabilities=capabilities,
        instructions=instructions,
        observed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    row = codec.listed_columns(listed)
    assert all(value.isascii() and "\0" not in value for value in row.values() if isinstance(value, str))
    parts = codec.listed_parts(row["server_info"], row["capabilities"], row["quarantined"])
    assert parts == (identity, capabilities, quarantined)


@given(st.lists(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30))])), min_size=1))
def test_stored_times_sort_as_the_moments_do(moments: list[datetime]) -> None:
    in_range = [each for each in moments if 2 < each.year < 9998]
    stored = sorted(texts.time_text(each) for each in in_range)
    assert [texts.time_from(each) for each in stored] == sorted(in_range)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        texts.time_text(datetime(2026, 1, 1))  # noqa: DTZ001 (that is the point)


@pytest.mark.parametrize("text", ["nul\0inside", "lone\ud800surrogate"])
def test_a_name_that_the_engines_would_keep_differently_is_refused(text: str) -> None:
    with pytest.raises(StoreError) as refused:
        texts.require_storable("fine", None, text, place="server.a")
    assert (refused.value.code, text in str(refused.value)) == ("text-not-storable", False)
