#!/usr/bin/env bash
# JupyterLab 4 with jupyterlab-lsp, as `jupyter-lab`; `python-playwright` is a Python that drives a browser, and the
# browser is Debian's Chromium.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/beside_the_system.sh"

environment_of jupyterlab 'jupyterlab==4.*' 'jupyterlab-lsp==5.*' ipykernel 'playwright==1.*'
ln -sf "$editors/jupyterlab/bin/jupyter-lab" "$editors/bin/jupyter-lab"
command_named python-playwright <<END
exec "$editors/jupyterlab/bin/python" "\$@"
END

browser
