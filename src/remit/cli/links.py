"""Configurations that are links out of a checkout: refused where a branch's author reads what is wrong in a file.

Decides when: for `plan --untrusted`, and in a pipeline for what runs there on branches before anybody read them. It reads no
file; it looks where paths lead.
"""

from collections.abc import Mapping
from pathlib import Path

from remit.config.composing import overlay_of
from remit.config.file_set import ENVIRONMENTS, FileSet
from remit.config.lockfile import lock_place
from remit.errors import ConfigError
from remit.reconcile.checkout import CHECKOUT_VARIABLES, Checkout

__all__ = ["refuse_links", "refuse_links_in_pipelines"]

_PIPELINE_VARIABLES = ("CI", *CHECKOUT_VARIABLES)


def refuse_links(config: FileSet, checkout: Checkout) -> None:
    """Refuse files that are links out of the checkout: what is wrong in a file is quoted. Raises ConfigError."""
    _refuse_link(config.main.parent / ENVIRONMENTS, checkout)
    overlay = overlay_of(config)
    for path in (config.main, *config.others, lock_place(config), *(() if overlay is None else (overlay.path,))):
        _refuse_link(path, checkout)


def refuse_links_in_pipelines(config: FileSet, environ: Mapping[str, str]) -> None:
    """As `refuse_links`, where the environment is a pipeline's; elsewhere who runs it may read the file anyway."""
    if any(environ.get(name) for name in _PIPELINE_VARIABLES):
        refuse_links(config, Checkout.around(config.folder, environ))


def _refuse_link(path: Path, checkout: Checkout) -> None:
    if checkout.leads_out(path):
        raise ConfigError(
            "this is a link that leads out of the checkout",
            code="untrusted-link",
            place=str(path),
            hint="commit the file itself",
        )
