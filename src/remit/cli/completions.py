"""What a shell completes beside commands and flags: names of servers, codes.

Reads the configuration and nothing else, and never fails: a shell that waits for a completion shows no error.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

__all__ = ["code_names", "environment_names", "server_names"]


def server_names(context: "click.Context", _parameter: "click.Parameter", incomplete: str) -> list[str]:
    """The servers of the file that the command line names; none where it is not valid."""
    from remit.config.file_set import FileSet
    from remit.config.loader import Loaded, load
    from remit.errors import UsageError

    config: object = context.params.get("config")
    try:
        result = load(config if isinstance(config, FileSet) else FileSet())
    except UsageError:
        # An environment that is not there, or not typed to its end yet.
        return []
    servers = result.desired.servers if isinstance(result, Loaded) else ()
    return [each.name for each in servers if each.name.startswith(incomplete)]


def environment_names(context: "click.Context", _parameter: "click.Parameter", incomplete: str) -> list[str]:
    """The environments that have an overlay beside the file that the command line names."""
    from remit.config.composing import environments_of
    from remit.config.file_set import FileSet

    config: object = context.params.get("config")
    known = environments_of(config if isinstance(config, FileSet) else FileSet())
    return [name for name in known if name.startswith(incomplete)]


def code_names(_context: "click.Context", _parameter: "click.Parameter", incomplete: str) -> list[str]:
    """The codes that `remit explain` knows."""
    from remit.cli.codes import all_codes

    return [code for code in sorted(all_codes()) if code.startswith(incomplete)]
