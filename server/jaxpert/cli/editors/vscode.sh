# jaxpert ${version} in VS Code 1.91 and newer, and in editors made of it (`codium`, `cursor`, `code-server`).
# The extension is a file, jaxpert-${version}.vsix; it is built in vscode-client/ of jaxpert's repository by
# `npm ci && npm run libs && npm run package`. It carries the server with it: nothing else has to be installed.
# Run this in a terminal, or pick the file in VS Code: Extensions > ... > Install from VSIX.
code --install-extension jaxpert-${version}.vsix
