"""A server that answers calls and cannot be listed: whose tools may be called."""

from pathlib import Path

import pytest

from tests.runtime.live import EFFECT, applied
from tests.servers.http_server import Raw

OPEN = {**EFFECT, "surface": "open"}


@pytest.mark.parametrize(("envelope", "codes"), [(OPEN, [None, None]), (EFFECT, ["contract_unknown"] * 2)])
def test_an_open_tool_is_called_on_a_server_that_cannot_be_listed_and_a_locked_one_is_not(
    tmp_path: Path, envelope: dict[str, object], codes: list[str | None]
) -> None:
    with applied(tmp_path, envelope=envelope) as live:
        live.stdio(error_on={"tools/list": [-32603, "no list today"]})
        live.http.answer_on = {"tools/list": Raw(500, b"no list today")}
        results, run = live.called(("stdio__echo", '{"q": "x"}'), ("http__echo", '{"q": "x"}'))

        assert [result.code for result in results] == codes
        sent = [len(live.calls("stdio")), len(live.calls("http"))]
        assert sent == [code is None for code in codes]
        assert "session_renewed" not in [kind for kind, _ in live.audit(run)]
