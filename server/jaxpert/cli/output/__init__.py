"""One module per output format; each turns a :class:`~jaxpert.cli.report.Run` into text."""
