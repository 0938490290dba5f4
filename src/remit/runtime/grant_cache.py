"""Grants by assistant, cached until the database says that they moved.

Decides nothing about a call: the journal compares the stamp of the grants inside the transaction of each decision, and
answers `GrantsMoved` where an apply, a suspension or a resume came in between. So a cached reading can be old, but never used.
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import lru_cache

from remit.core.call_ports import GrantedTool, Grants, GrantSource, Stamp
from remit.core.recorded import RecordedAttachment
from remit.errors import UsageError

__all__ = ["GrantCache", "HeldGrants", "is_coherent"]


@lru_cache(maxsize=10_000)
def is_coherent(attachment: RecordedAttachment) -> bool:
    """`attachment.is_coherent`, hashed once for each reading instead of at each call."""
    return attachment.is_coherent


class HeldGrants:
    """One reading of an assistant's grants, with its tools by identity. Never changed."""

    def __init__(self, grants: Grants):
        self.grants = grants
        self._tools: Mapping[tuple[str, str], GrantedTool] = {_key(tool): tool for tool in grants.tools}

    @property
    def stamp(self) -> Stamp:
        """The point in the database's life that they were read at."""
        return self.grants.stamp

    @property
    def permissions(self) -> frozenset[str]:
        """What the assistant holds."""
        return self.grants.permissions

    def tool(self, frozen: GrantedTool) -> GrantedTool | None:
        """A tool as it is granted now; None where it is attached no more. Its alias may be another one by now."""
        return self._tools.get(_key(frozen))


def _key(tool: GrantedTool) -> tuple[str, str]:
    return tool.attachment.server_id, tool.attachment.remote_name


class GrantCache:
    """The grants of one owner's assistants. Implements core.ports.CacheInvalidation. For one event loop.

    They are read in `threads`: those of the event loop may all be busy with what is the program's own.
    """

    def __init__(self, source: GrantSource, owner: str, threads: Executor):
        self._source = source
        self._owner = owner
        self._threads = threads
        self._grants: dict[str, HeldGrants] = {}
        self._loading: dict[str, asyncio.Future[Grants | None]] = {}
        self._asking: dict[str, asyncio.Future[Stamp | None]] = {}

    def assistants_changed(self, owner: str, assistants: Sequence[str]) -> None:
        """Forget what is cached about these assistants."""
        for name in assistants if owner == self._owner else ():
            self._grants.pop(name, None)

    def moved(self, held: HeldGrants) -> None:
        """Forget a reading that the journal found to be old; a newer one stays."""
        if self._grants.get(held.grants.assistant) is held:
            del self._grants[held.grants.assistant]

    def held(self, assistant: str) -> HeldGrants | None:
        """The grants of an assistant as they were read last, where nothing has to be waited for."""
        return self._grants.get(assistant)

    async def newest(self, assistant: str, timeout: float | None = None) -> HeldGrants:
        """The grants as they are recorded now: what a run is composed from and a listing shows. Raises as `of`."""
        async with asyncio.timeout(timeout):
            held = self._grants.get(assistant)
            if held is not None and await self._stamp(assistant) != held.stamp:
                self.moved(held)
            return await self.of(assistant)

    async def _stamp(self, assistant: str) -> Stamp | None:
        # One question for all who came before it began: a start with a hundred calls is no hundred connections to the
        # database. What is under way already may have read what was true before its caller came.
        under_way = self._asking.get(assistant)
        if under_way is not None:
            await asyncio.wait({under_way})
        asking = self._asking.get(assistant)
        if asking is None:
            loop = asyncio.get_running_loop()
            asking = loop.run_in_executor(self._threads, self._source.stamp, self._owner, assistant)
            self._asking[assistant] = asking
            asking.add_done_callback(lambda _: self._asking.pop(assistant, None))
        return await asyncio.shield(asking)

    async def of(self, assistant: str, timeout: float | None = None) -> HeldGrants:
        """The grants of an assistant as they were read last.

        Raises UsageError for an unknown one (fail closed), StoreError, TimeoutError after `timeout` seconds.
        """
        cached = self._grants.get(assistant)
        if cached is not None:
            return cached
        loading = self._loading.get(assistant)
        if loading is None:
            loop = asyncio.get_running_loop()
            loading = loop.run_in_executor(self._threads, self._source.grants, self._owner, assistant)
            self._loading[assistant] = loading
            loading.add_done_callback(lambda _: self._loading.pop(assistant, None))
        # A caller that is cancelled does not take the reading away from the others.
        async with asyncio.timeout(timeout):
            grants = await asyncio.shield(loading)
        if grants is None:
            raise UsageError(
                f"there is no assistant {assistant!r}",
                code="unknown-assistant",
                place=f"assistant.{assistant}",
                hint="`remit status` lists the recorded assistants; `remit apply` creates the declared ones",
            )
        # Of several waiters the first one makes the entry, so that all of them hold the same reading.
        held = self._grants.get(assistant)
        if held is None or held.grants is not grants:
            held = self._grants[assistant] = HeldGrants(grants)
        return held
