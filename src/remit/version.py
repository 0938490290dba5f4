"""The version of remit, apart from the package's front so that every part can say it without loading another."""

__all__ = ["__version__"]

__version__ = "0.1.0"
