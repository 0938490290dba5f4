"""Which recorded thing an address means, by stable identity."""

from dataclasses import replace

import pytest

from remit.cli.suspendable import Suspendable
from remit.core.governance import Suspension, SuspensionTarget
from remit.core.identity import HttpEndpoint, ProviderName, ServerId
from remit.core.recorded import Recorded, RecordedAssistant, RecordedServer
from remit.errors import UsageError
from tests.render.examples import NOON
from tests.render.test_listing_text import STATUS

ATTACHMENT = replace(STATUS.recorded.attachments[0], assistant_owner="acme", provider_name=ProviderName("issues__find"))


def server(server_id: str, name: str, *, workspace: str = "demo", owner: str = "acme") -> RecordedServer:
    return RecordedServer(
        server_id=ServerId(server_id),
        owner=owner,
        workspace=workspace,
        name=name,
        namespace=name,
        endpoint=HttpEndpoint(f"https://{server_id}.example"),
    )


RECORDED = Recorded(
    servers=(server("mcp_a", "issues"), server("mcp_b", "files"), server("mcp_x", "issues", owner="other")),
    assistants=(
        RecordedAssistant(owner="acme", workspace="demo", name="ops"),
        RecordedAssistant(owner="other", workspace="demo", name="sales"),
    ),
    attachments=(ATTACHMENT,),
)
ALL = Suspendable(RECORDED, owner="acme", workspace="demo")
TOOL = SuspensionTarget(server_id="mcp_a", assistant="ops", remote_name="search.issues")


def suspension(address: str, target: SuspensionTarget) -> Suspension:
    return Suspension(target=target, address=address, actor="user:eva", at=NOON, reason=None)


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("server.issues", SuspensionTarget(server_id="mcp_a")),
        ("assistant.ops", SuspensionTarget(assistant="ops")),
        ("assistant.ops/issues__find", TOOL),
    ],
)
def test_an_address_means_a_thing_by_its_identity(address: str, target: SuspensionTarget):
    assert ALL.require(address) == target


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("server.isues", "did you mean server.issues?"),
        ("assistant.op", "did you mean assistant.ops?"),
        ("assistant.ops/issues__fnd", "did you mean assistant.ops/issues__find?"),
        ("sever.issues", "did you mean server.issues?"),
        ("issues", "did you mean server.issues?"),
        ("tool.issues/search.issues", "a tool is suspended where it is attached"),
        ("zzz", "an address is server.NAME, assistant.NAME or assistant.NAME/ALIAS"),
        ("assistant.sales", "an address is"),
    ],
)
def test_an_address_of_nothing_is_refused_with_the_way_on(address: str, hint: str):
    with pytest.raises(UsageError) as refused:
        ALL.require(address)
    assert refused.value.hint is not None
    assert hint in refused.value.hint


def test_servers_of_one_name_are_told_apart_by_the_workspace_of_the_file_or_refused():
    twice = Recorded(servers=(server("mcp_a", "issues"), server("mcp_c", "issues", workspace="second")))
    of_second = Suspendable(twice, owner="acme", workspace="second").require("server.issues")
    assert of_second == SuspensionTarget(server_id="mcp_c")
    with pytest.raises(UsageError, match="in each of these workspaces: demo, second"):
        Suspendable(twice, owner="acme", workspace=None).require("server.issues")


def test_a_server_of_another_workspace_of_the_owner_can_be_suspended():
    assert Suspendable(RECORDED, owner="acme", workspace="elsewhere").require("server.issues").server_id == "mcp_a"


def test_a_suspension_of_something_that_is_gone_can_still_be_ended_by_the_address_it_has():
    gone = suspension("server.old", SuspensionTarget(server_id="mcp_gone"))
    assert ALL.require("server.old", [gone]) == gone.target
    with pytest.raises(UsageError, match="is the address of nothing"):
        ALL.require("server.old")


def test_a_name_that_went_to_another_thing_still_ends_the_suspension_asked_for_under_it():
    earlier = suspension("server.issues", SuspensionTarget(server_id="mcp_earlier"))
    assert ALL.require("server.issues", [earlier]) == earlier.target
    of_this_too = suspension("server.renamed", SuspensionTarget(server_id="mcp_a"))
    assert ALL.require("server.issues", [earlier, of_this_too]) == of_this_too.target
