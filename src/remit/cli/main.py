"""The `remit` command."""


def main() -> None:
    """Run the command line."""
