"""jaxpert: the language server and linter that knows JAX."""

__version__ = "0.1.0"
