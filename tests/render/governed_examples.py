"""Values of governed calls for the tests of their rendering; HOSTILE is in every text that somebody else wrote."""

from dataclasses import replace
from datetime import timedelta

from remit.core.approvals import Approval, ApprovalBinding, new_request
from remit.core.canonical import Json, canonical_json
from tests.render.examples import NOON

HOSTILE = "x\x1b[2J\n::error::forged \u202egnp"
"""Clears the screen, begins a line of its own, gives a CI runner a command, and turns the reading direction."""

SAFE = r"x\x1b[2J\n::error::forged \u202egnp"


def approval(
    arguments: Json = None,
    *,
    approval_id: str = "4f1c0d9e",
    server: str = "issues",
    provider_name: str = "issues__create_issue",
    **more: object,
) -> Approval:
    """A request of assistant `ops` that waits, made three minutes before NOON and good for twelve more."""
    binding = ApprovalBinding(
        principal="assistant:ops",
        owner="acme",
        assistant="ops",
        server_id="srv-1",
        identity_key="http:https://issues.example/mcp",
        remote_name="create_issue",
        server=server,
        provider_name=provider_name,
        reversible=False,
        definition_digest="d1:" + "a" * 64,
        envelope_digest="e1:" + "b" * 64,
        arguments=canonical_json({"title": "broken"} if arguments is None else arguments),
    )
    return replace(new_request(approval_id, binding, NOON - timedelta(minutes=3)), **more)


def controls_of(text: str) -> set[str]:
    """The characters of a text that a terminal obeys, line ends aside."""
    return {each for each in text if not each.isprintable() and each != "\n"}
