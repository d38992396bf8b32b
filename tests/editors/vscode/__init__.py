"""VS Code, inside its extension host and through its user interface."""
