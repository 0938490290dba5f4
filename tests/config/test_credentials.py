"""Credentials in a file are found, and shown nowhere."""

import pytest

from remit.config.credentials import is_secret_name, mask_line
from remit.config.random_words import looks_random
from tests.config.reading import findings_of, places_of, server

HTTP = "url: https://x.example.com/mcp"
RANDOM = "Zk3Qw9Lr7Tn5Yx1Vb8Hd2Mf6"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkdW1teSJ9.c2lnbmF0dXJl"

INLINE = {
    "a bearer header": server(HTTP, "headers: {Authorization: Bearer dummy-secret-value}"),
    "a raw authorization": server(HTTP, "headers: {authorization: dummy-secret-value}"),
    "an api key header": server(HTTP, "headers: {X-Api-Key: dummy}"),
    "a cookie": server(HTTP, "headers: {Cookie: session=dummy}"),
    "a token under another header": server(HTTP, "headers: {X-Session: ghp_dummydummydummydummydummy}"),
    "a variable called token": server("command: [x]", "env: {GITHUB_TOKEN: dummy}"),
    "a variable called password": server("command: [x]", "env: {PGPASSWORD: '12345678'}"),
    "a variable called key": server("command: [x]", "env: {OPENAI_API_KEY: dummy}"),
    "a camel-case variable": server("command: [x]", "env: {dbPassword: dummy}"),
    "a literal default": server("command: [x]", 'env: {GITHUB_TOKEN: "${env:T:-dummy}"}'),
    "a shape as default": server("command: [x]", 'env: {X: "${env:T:-ghp_dummydummydummydummydummy}"}'),
    "a dollar in a password": server("command: [x]", "env: {PASSWORD: dummy$ecret}"),
    "github": server("command: [x]", "env: {X: ghp_dummydummydummydummydummy}"),
    "github fine-grained": server("command: [x]", "env: {X: github_pat_11DUMMY0dummydummy}"),
    "openai": server("command: [x]", "env: {X: sk-proj-dummy1dummydummydummy}"),
    "slack": server("command: [x]", "env: {X: xoxb-1234-dummy}"),
    "aws": server("command: [x]", "env: {X: AKIAIOSFODNN7EXAMPLE}"),
    "google": server("command: [x]", "env: {X: AIzaSyDummyDummyDummyDummyDummy}"),
    "a jwt": server("command: [x]", f"env: {{X: {JWT}}}"),
    "a key block": server("command: [x]", 'env: {X: "-----BEGIN PRIVATE KEY-----\\nMIIE"}'),
    "a password in a connection string": server("command: [x]", "env: {DATABASE: postgres://me:dummy@db/x}"),
    "an assignment in a connection string": server("command: [x]", "env: {DATABASE: Server=db;Password=dummy}"),
    "json": server("command: [x]", "env: {X: '{\"token\": \"dummy\"}'}"),
    "a random text": server("command: [x]", f"env: {{X: {RANDOM}}}"),
    "a long hexadecimal text": server("command: [x]", "env: {X: 0f1e2d3c4b5a69788796a5b4c3d2e1f0}"),
    "a query key": server("url: https://x.example.com/mcp?a=b&api_key=dummy"),
    "a query key called key": server("url: https://x.example.com/mcp?key=dummy"),
    "an access token in a query": server("url: https://x.example.com/mcp?access_token=dummy"),
    "a password in a url": server("url: https://me:dummy@x.example.com/mcp"),
    "a random path": server(f"url: https://x.example.com/s/{RANDOM}/mcp"),
    "a flag": server("command: [x, --token, dummy]"),
    "a value where a variable's name belongs": server("command: [x, --token-env, dummy]"),
    "such a value behind =": server("command: [x, --token-env=dummy-horse]"),
    "a token where a variable's name belongs": server("command: [x, --token-env, AKIAIOSFODNN7EXAMPLE]"),
    "a long word where a variable's name belongs": server("command: [x, --token-env, DUMMY3DPEHPK3PXP]"),
    "a variable called env": server("command: [x]", "env: {TOKEN_ENV: DUMMY}"),
    "a header called env": server(HTTP, "headers: {x-token-env: DUMMY}"),
    "a flag with =": server("command: [x, --api-key=dummy]"),
    "a header as an argument": server("command: [npx, mcp-remote, --header, 'Authorization: Bearer dummy']"),
    "a variable as an argument": server("command: [docker, run, -e, GITHUB_TOKEN=dummy, img]"),
    "a url as an argument": server("command: [npx, mcp-remote, 'https://x.example.com/mcp?api_key=dummy']"),
    "a token as an argument": server("command: [x, ghp_dummydummydummydummydummy]"),
    "a default of a telling variable": server("command: [x]", 'env: {X: "${env:GH_TOKEN:-dummy}"}'),
    "such a default as an argument": server('command: [x, "${env:API_KEY:-dummy}"]'),
    "such a default in a path": server('url: "https://x.example.com/${env:MY_SECRET:-dummy}/mcp"'),
    "such a default in a query": server('url: "https://x.example.com/mcp?a=${env:MY_SECRET:-dummy}"'),
    "such a default in a header": server(HTTP, 'headers: {X-Foo: "${env:MY_SECRET:-dummy}"}'),
    "a default where a password stands": server("command: [x]", 'env: {DB: "postgres://me:${env:P:-dummy}@db/x"}'),
    "a default behind a name": server('command: [x, "--token=${env:T:-dummy}"]'),
    "a default in json": server("command: [x]", "env: {X: '{\"password\": \"${env:P:-dummy}\"}'}"),
    "a bearer header in json": server("command: [x]", "env: {X: '{\"Authorization\": \"Bearer dummy\", \"V\": \"1\"}'}"),
    "json within json": server("command: [x]", "env: {X: '{\"h\": \"{\\\"token\\\": \\\"dummy\\\"}\"}'}"),
    "a list in json": server("command: [x]", "env: {X: '{\"password\": [\"dummy\"]}'}"),
    "a pair in json": server("command: [x]", "env: {X: '[{\"name\": \"API_KEY\", \"value\": \"dummy\"}]'}"),
    "a header line with a scheme": server("command: [x]", "env: {X: 'Authorization=Basic dummy,a=b'}"),
    "a bearer value under another name": server("command: [x]", "env: {X: Bearer dummy-horse}"),
    "a bearer value in another header": server(HTTP, "headers: {X-Session: Bearer dummy-horse}"),
    "a flag that names a bearer": server("command: [x, --oauth2Bearer, dummy]"),
    "a numbered password": server("command: [x]", "env: {DB_PASSWORD2: dummy}"),
    "a short word for a password": server("command: [x]", "env: {DB_PASS: dummy}"),
    "a flag in a text": server("command: [x]", "env: {ARGS: '--verbose --token dummy --port 3'}"),
    "a header in a line for a shell": server("command: [sh, -c, 'curl -H \"Authorization: Bearer dummy\" x']"),
    "a flag in a line for a shell": server("command: [sh, -c, 'node x.js --password dummy']"),
    "a file of npm": server("command: [x]", "env: {X: '//registry.example.com/:_authToken=dummy'}"),
    "a token before a host": server("command: [git, clone, 'https://dummy8token@git.example.com/a']"),
    "a password with a slash": server("command: [x]", "env: {DB: 'postgres://me:dum/my@db/x'}"),
    "a password beside a user by reference": server("command: [x]", 'env: {DB: "postgres://${env:U}:dummy@db/x"}'),
    "a path that says token": server("url: https://x.example.com/token/dummy8dummy/mcp"),
    "a fragment": server("command: [x, 'https://x.example.com/#access_token=dummy']"),
    "a token as the name of a reference": server("command: [x]", 'env: {X: "${env:ghp_dummydummydummydummydummy}"}'),
    "a token as the path of a reference": server("command: [x]", 'env: {X: "${file:ghp_dummydummydummydummydummy}"}'),
    "a token as a variable's name": server("command: [x]", "env: {ghp_dummydummydummydummydummy: '1'}"),
    "a bearer token": server(HTTP, "auth: {type: bearer, token: dummy-secret-value}"),
    "a bearer token's default": server(HTTP, 'auth: {type: bearer, token: "${env:T:-dummy}"}'),
    "a client secret": server(
        HTTP,
        "auth: {type: oauth_client_credentials, token_url: 'https://i.example.com/t', client_id: a, client_secret: dummy}",
    ),
    "a private key": server(
        HTTP, "auth: {type: private_key_jwt, token_url: 'https://i.example.com/t', client_id: a, private_key: dummy}"
    ),
}  # fmt: skip

FINE = {
    "references": server(HTTP, 'headers: {Authorization: "Bearer ${env:T}", X-Api-Key: "${file:/run/secrets/k}"}'),
    "a basic reference": server(HTTP, 'headers: {Authorization: "Basic ${env:T}"}'),
    "a cookie by reference": server(HTTP, 'headers: {Cookie: "session=${env:S}; theme=dark"}'),
    "an empty default": server("command: [x]", 'env: {GITHUB_TOKEN: "${env:T:-}"}'),
    "plain headers": server(HTTP, "headers: {X-Tenant: acme, User-Agent: remit/1.0, X-Region: eu-central-1}"),
    "settings about tokens": server(
        "command: [x]",
        "env: {MAX_TOKENS: '4096', TOKEN_BUDGET: '100000', TOKENIZERS_PARALLELISM: 'false', SECRET_NAME: prod-key}",
    ),
    "files of secrets": server(
        "command: [x]",
        "env: {GITHUB_TOKEN_FILE: /run/secrets/gh, PASSWORD: /run/secrets/pw, GOOGLE_APPLICATION_CREDENTIALS: ~/gcp.json}",
    ),
    "files of secrets by name alone": server(
        "command: [x, --credentials, gcp.json]", "env: {GOOGLE_APPLICATION_CREDENTIALS: gcp.json, PASSWORD: 'C:\\keys\\pw.txt'}"
    ),
    "patterns": server("command: [x, 'token:*']"),
    "flags and nothing": server("command: [x]", "env: {USE_TOKEN: 'true', NO_PASSWORD: 'no', API_KEY: ''}"),
    "paths": server("command: [x, /usr/local/lib/python3.11/site-packages/some_package/long_module_name.py]", "cwd: /srv/a"),
    "names in every case": server(
        "command: [com.example.VeryLongServiceNameForTests2, my-very-long-package-name-with-many-words-v2, A_LONG_CONSTANT_NAME_2]"
    ),
    "a pinned image": server(f"command: [docker, run, 'img@sha256:{'0f1e2d3c' * 8}']"),
    "a pinned commit": server(f"command: [uvx, --from, 'git+https://git.example.com/a/b@{'0f1e2d3c4b' * 4}', b]"),
    "a uuid": server("url: https://x.example.com/3f2504e0-4f89-41d3-9a0c-0305e82c3301/mcp"),
    "numbers and words": server("command: [x, --port, '8080', --verbose, --token-file, t.txt]", "env: {MODE: production}"),
    "a plain query": server("url: https://x.example.com/mcp?region=eu&version=2026-11-30"),
    "a query by reference": server('url: "https://x.example.com/mcp?api_key=${env:K}"'),
    "a flag by reference": server('command: [x, --token, "${env:T}", "--api-key=${env:K}", -e, "GITHUB_TOKEN=${env:G}"]'),
    "a default that is no secret": server(
        "command: [x]", 'env: {REGION: "${env:REGION:-eu-central-1}", T: "${env:TOKEN_URL:-https://i.example.com/t}"}'
    ),
    "a default that says nothing": server('command: [x, "${env:API_KEY:-}", "--token=${env:TOKEN:-none}"]'),
    "a password by reference beside a port": server("command: [x]", 'env: {DB: "http://h:8080/@scope/${env:X:-y}"}'),
    "json by reference": server(
        "command: [x]", "env: {X: '{\"Authorization\": \"Bearer ${env:T}\", \"Notion-Version\": \"2022-06-28\", \"n\": 4096}'}"
    ),
    "json about tokens": server("command: [x]", "env: {X: '{\"maxTokens\": 4096, \"tokenUrl\": \"https://i.example.com/t\"}'}"),
    "a line for a shell": server("command: [sh, -c, 'TOKEN=$${TOKEN} KEY=$$(cat /run/k) exec npx -y srv@1.0.0 --port 3']"),
    "names of variables": server("command: [x, --bearer-token-env-var, GITHUB_TOKEN, --auth-method, token]"),
    "names of variables in flags": server("command: [x, --token-env, GITHUB_TOKEN, --api-key-env=API_KEY_2, --password-variable, PW]"),
    "names of variables in a text": server("command: [sh, -c, 'x --token-env GITHUB_TOKEN --password-env=DB_PASS -v']"),
    "words that only sound so": server(
        "command: [x, Basic plan, 'Basic authentication', 'the bearer of news', --compass, north, --pass-through, all]"
    ),
    "a user before a host": server("command: [x, 'ssh://git@git.example.com/a', 'https://contoso@dev.example.com/a']"),
    "paths that say token": server("url: https://x.example.com/oauth/token/refresh"),
    "ports and addresses": server(
        "command: [x, 'jdbc:sqlserver://h:1433;user=a@b', 'https://h:8443?to=a@b', 'http://h:4873/@scope/a', 'mongodb://a:1,b:2/?c=d@e']"
    ),
    "collections": server("url: https://x.example.com/v1/secrets/prod2024eu/mcp"),
    "switches": server("command: [x, --use-token, 'true', --log-level, debug, --header, 'Accept: text/html']"),
    "a database by reference": server("command: [x]", 'env: {DATABASE: "postgres://me:${env:PW}@db/x"}'),
}  # fmt: skip


@pytest.mark.parametrize("name", INLINE)
def test_a_credential_in_the_file_is_an_error(name: str) -> None:
    assert [code for code, _, _ in places_of(INLINE[name])] == ["inline-secret"]


@pytest.mark.parametrize("name", INLINE)
def test_a_found_credential_is_shown_nowhere(name: str) -> None:
    shown = repr(findings_of(INLINE[name])).lower()
    assert not any(
        value in shown for value in ("dummy", RANDOM.lower(), "12345678", "0f1e2d", "akia", "eyj", "-----begin")
    )


@pytest.mark.parametrize("name", FINE)
def test_what_is_no_credential_passes(name: str) -> None:
    assert findings_of(FINE[name]) == ()


def test_a_line_with_a_credential_and_another_mistake_shows_the_mistake_only() -> None:
    text = server(HTTP, 'headers: {Authorization: "Bearer dummy-secret-value", X B: ok}')
    excerpt = "      headers: {Authorization: ***************************, X B: ok}"
    assert [(each.code, each.excerpt) for each in findings_of(text)] == [
        ("inline-secret", excerpt),
        ("invalid-header", excerpt),
    ]


@pytest.mark.parametrize(
    "text",
    [
        server(HTTP, "header: {Authorization: Bearer dummy}"),
        server(HTTP, "auth: {type: bearer, tokn: dummy}"),
        server(HTTP, "auth: dummy"),
        server(HTTP, "headers: 'X-Thing: dummy'"),
        server("command: x --pin dummy"),
        server("command: [x]", "env: {API_KEY: [dummy]}"),
        server("command: [x]", "env: {PASSWORD: 8675309}").replace("8675309", "867530900000"),
        server("command: [x]", "env: {PASSWORD: dummy: x}"),
        server(HTTP, 'headers: {Authorization: "dummy\\n"}'),
        server("url: https://me:dum/dummy'@x.example.com/mcp"),
        server("command: [npx -y foo@1.0.0 --token dummy]"),
        server(HTTP, "mcpServers: {gh: {env: {X: dummy}}}"),
        "version: 1\nmcpServers: {gh: {env: {X: dummy}}}\n",
    ],
)
def test_a_secret_in_the_wrong_place_is_not_shown_by_another_finding(text: str) -> None:
    found = findings_of(text)
    assert found
    assert "inline-secret" not in {each.code for each in found}
    assert not any(word in repr(found) for word in ("dummy", "867530900000"))


def test_a_credential_over_several_lines_is_hidden_on_each_of_them() -> None:
    text = server(HTTP, 'headers: {X-Api-Key: "dummy', '  dummy", X B: ok}')
    assert [(each.code, each.excerpt) for each in findings_of(text)] == [
        ("inline-secret", "      headers: {X-Api-Key: ******"),
        ("invalid-header", "        ******, X B: ok}"),
    ]


def test_names_that_hold_credentials_are_told_from_names_about_them() -> None:
    secret = [
        "TOKEN",
        "GITHUB_TOKEN_PROD",
        "db-password",
        "clientSecret",
        "AWS_SECRET_ACCESS_KEY",
        "x-api-key",
        "DB_PWD",
        "DB_PASS",
        "API_TOKEN2",
        "oauth2Bearer",
    ]
    about = ["PWD", "OLDPWD", "TOKEN_URL", "PASSWORD_FILE", "KEYBOARD", "MONKEY", "TOKENS", "AUTH_METHOD", "PATH", "",
             "BYPASS", "PASS_THROUGH", "TOKEN_ENV_VAR", "TOKEN_URL_2"]  # fmt: skip
    assert {name: is_secret_name(name) for name in secret + about} == {
        **dict.fromkeys(secret, True),
        **dict.fromkeys(about, False),
    }


def test_generated_keys_are_told_from_words() -> None:
    random = [RANDOM, "q7w8e9r0t1y2u3i4o5p6a7s8d9f0g1h2", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"]
    words = ["my-very-long-package-name-with-many-words-v2", "VeryLongClassNameForTheService2Handler3", "1" * 40,
             "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "this_is_a_rather_long_snake_case_name_2026"]  # fmt: skip
    assert {word: looks_random(word) for word in random + words} == {
        **dict.fromkeys(random, True),
        **dict.fromkeys(words, False),
    }


MASKED = {
    'x: {FOO: "${env:GH_TOKEN:-dummy}", X B: ok}': 'x: {FOO: "${env:GH_TOKEN:-*****}", X B: ok}',
    'x: {FOO: "${env:REGION:-eu-1}"}': 'x: {FOO: "${env:REGION:-eu-1}"}',
    """x: {FOO: '{"token": "dummy", "a": 1}'}""": """x: {FOO: '{"token": "*****", "a": 1}'}""",
    """x: '{"Authorization": "Bearer dummy"}'""": """x: '{"Authorization": "Bearer *****"}'""",
    "command: [x, --token, dummy, y]": "command: [x, --token, *****, y]",
    'command: ["--token", "dummy", y]': 'command: ["--token", "*****", y]',
    "command: [x, --port, 8080]": "command: [x, --port, 8080]",
    "command: [sh, -c, 'x --token dummy -v']": "command: [sh, -c, 'x --token ***** -v']",
}


@pytest.mark.parametrize("line", MASKED)
def test_a_line_is_shown_without_the_values_that_its_names_give_away(line: str) -> None:
    assert mask_line(line) == MASKED[line]
