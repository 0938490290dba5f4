import asyncio
import json
from base64 import b64encode
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from remit.core.desired import ClientCredentialsAuth, PrivateKeyJwtAuth
from remit.core.identity import HttpEndpoint, Transport
from remit.core.live import Unreachable, UnreachableReason
from remit.upstream.oauth import token_source_for
from remit.upstream.redaction import Redactor
from remit.upstream.references import ResolvedHttp
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.support import NOON, SECRET, KeptEvents, listing_of, names


def token(value: str, **more: object) -> Raw:
    return Raw(200, json.dumps({"access_token": value, "token_type": "Bearer", **more}).encode())


def credentials(it: HttpServer, secret: str = "${env:IT}") -> ClientCredentialsAuth:
    url = f"http://127.0.0.1:{it.port}/token"
    return ClientCredentialsAuth(token_url=url, client_id="remit", client_secret=secret, scopes=("read", "call"))


def test_a_token_is_fetched_once_before_the_requests_and_masked_in_every_event():
    sink = KeptEvents()
    with HttpServer(bearer="dummy-access-token", token=token("dummy-access-token", expires_in=600)) as it:
        listed = asyncio.run(listing_of(it.url, sink=sink, auth=credentials(it), environ={"IT": SECRET}))
    assert names(listed) == ["echo"]
    fetched = [seen for seen in it.seen if seen.path == "/token"]
    assert [dict(seen.message) for seen in fetched] == [{"grant_type": "client_credentials", "scope": "read call"}]
    assert fetched[0].headers["authorization"] == "Basic " + b64encode(f"remit:{SECRET}".encode()).decode()
    assert it.seen[0] is fetched[0]
    assert "dummy-access-token" not in sink.text()


def test_a_token_is_fetched_for_a_server_of_legacy_sse_too():
    with HttpServer(era="legacy", token=token("dummy-access-token", expires_in=600)) as it:
        endpoint = HttpEndpoint(it.url.replace("/mcp", "/sse"), Transport.SSE)
        listed = asyncio.run(listing_of(endpoint, auth=credentials(it), environ={"IT": SECRET}))
        sent = {seen.headers.get("authorization") for seen in it.seen if seen.path != "/token"}
    assert names(listed) == ["echo"]
    assert sent == {"Bearer dummy-access-token"}


def test_a_refused_client_is_reported_as_auth_without_its_secret():
    body = json.dumps({"error": "invalid_client", "error_description": f"no {SECRET}"}).encode()
    with HttpServer(token=Raw(400, body)) as it:
        found = asyncio.run(listing_of(it.url, auth=credentials(it), environ={"IT": SECRET}))
        assert it.methods() == [""]
    assert isinstance(found, Unreachable)
    assert found.reason is UnreachableReason.AUTH
    assert SECRET not in found.detail


def test_a_token_endpoint_that_is_down_is_refused_not_auth():
    with HttpServer(token=Raw(503)) as it:
        found = asyncio.run(listing_of(it.url, auth=credentials(it), environ={"IT": SECRET}))
    assert found == Unreachable(
        reason=UnreachableReason.REFUSED, detail="no token: the server answered 503 Service Unavailable"
    )


def test_an_answer_without_a_token_is_reported_as_auth():
    with HttpServer(token=Raw(200, b"[]")) as it:
        found = asyncio.run(listing_of(it.url, auth=credentials(it), environ={"IT": SECRET}))
    assert found == Unreachable(reason=UnreachableReason.AUTH, detail="the token endpoint answered 200 without a token")


@pytest.mark.parametrize(("lifetime", "fetches"), [(600, 1), (0.0001, 2)])
def test_a_token_is_kept_until_it_runs_out(lifetime: float, fetches: int):
    async def main(it: HttpServer) -> None:
        endpoint = ResolvedHttp(
            url=it.url,
            transport=Transport.STREAMABLE_HTTP,
            headers={},
            auth=credentials(it, SECRET),
            tls=None,
            allow_private_network=False,
        )
        source = token_source_for(endpoint, redactor=Redactor(), clock=lambda: NOON, new_id=lambda: "id-1")
        assert source is not None
        assert source.header() is None
        await source.refresh()
        await asyncio.sleep(0.01)
        await asyncio.gather(source.refresh(), source.refresh() if lifetime > 1 else asyncio.sleep(0))
        assert source.header() == "Bearer dummy-access-token"

    with HttpServer(token=token("dummy-access-token", expires_in=lifetime)) as it:
        asyncio.run(main(it))
    assert len(it.seen) == fetches


def test_a_client_may_prove_itself_with_a_signed_jwt():
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    with HttpServer(bearer="dummy-access-token", token=token("dummy-access-token")) as it:
        url = f"http://127.0.0.1:{it.port}/token"
        auth = PrivateKeyJwtAuth(token_url=url, client_id="remit", private_key="${env:KEY}", key_id="k1")
        assert names(asyncio.run(listing_of(it.url, auth=auth, environ={"KEY": pem}))) == ["echo"]
    assertion = str(it.seen[0].message["client_assertion"])
    assert jwt.get_unverified_header(assertion) == {"alg": "RS256", "kid": "k1", "typ": "JWT"}
    claims = jwt.decode(assertion, public, ["RS256"], audience=url, options={"verify_exp": False, "verify_iat": False})
    expected = {
        "iss": "remit",
        "sub": "remit",
        "aud": url,
        "jti": "connection-1",
        "iat": int(NOON.timestamp()),
        "exp": int((NOON + timedelta(minutes=2)).timestamp()),
    }
    assert claims == expected


def test_a_key_that_cannot_sign_is_reported_without_the_key():
    with HttpServer() as it:
        auth = PrivateKeyJwtAuth(token_url=it.url, client_id="remit", private_key="${env:KEY}")
        found = asyncio.run(listing_of(it.url, auth=auth, environ={"KEY": "dummy-no-key"}))
        assert it.seen == []
    assert isinstance(found, Unreachable)
    assert (found.reason, found.detail[:37]) == (UnreachableReason.AUTH, "auth.private_key cannot sign with RS2")
