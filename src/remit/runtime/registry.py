"""The executors of one run by provider_name: bound when the run starts, never persisted (managed-mcp-architecture, 15 to 17).

Decides that no two executors share a name (names that differ by case only are the same) and that none takes a name of the
platform's own tools. Routing is a look-up here: a bound name goes to its executor, every other name to the consumer.
"""

from collections.abc import Collection, Iterator

from remit.core.aliases import fold
from remit.errors import BindingRefused
from remit.runtime.mcp_executor import McpToolExecutor

__all__ = ["ExecutorRegistry"]


class ExecutorRegistry:
    """Executors by the exact name the model knows. `reserved` are folded names (core/aliases.folded_reserved)."""

    def __init__(self, reserved: Collection[str]):
        self._reserved = frozenset(reserved)
        self._executors: dict[str, McpToolExecutor] = {}
        self._folded: dict[str, str] = {}

    def __iter__(self) -> Iterator[McpToolExecutor]:
        return iter(self._executors.values())

    def bind(self, executor: McpToolExecutor, *, durable: bool = False) -> None:
        """Bind an executor to its provider_name.

        `durable` says that an attachment stands behind it: a name that became reserved after it was attached is warned
        about by plan, not broken (DESIGN.md section 4). Raises BindingRefused.
        """
        name = executor.provider_name
        folded = fold(name)
        if folded in self._reserved and not durable:
            raise BindingRefused(
                f"{name!r} is the name of a tool of the platform",
                place=name,
                hint="give the tool another alias under `aliases:`",
            )
        if folded in self._folded:
            raise BindingRefused(
                f"{name!r} is bound already, as {self._folded[folded]!r}", place=name, hint="unbind the other one first"
            )
        self._folded[folded] = name
        self._executors[name] = executor

    def unbind(self, name: str) -> None:
        """Unbind a name; one that is not bound is fine."""
        if self._executors.pop(name, None) is not None:
            del self._folded[fold(name)]

    def get(self, name: str) -> McpToolExecutor | None:
        """The executor of a name, exactly as it is written; None where none is bound."""
        return self._executors.get(name)
