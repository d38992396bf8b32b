#!/usr/bin/env bash
# VS Code in a browser, and the extension that is tested in it.
#
# code-server is VS Code with a server's front door; it needs the Node.js that it was built for, which npm has as a
# package. Its native modules (terminal, keytar, logging) are not compiled: without them it edits just the same.
# Commands: `code-server`, what an extension's users have; `vscode-server`, the same editor without that door, which
# runs tests inside its extension host; `node-playwright`, a Node.js that can drive the browser.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/beside_the_system.sh"

node=24.21.0 code_server=4.139.1 playwright=1.65.1
case $(uname -sm) in
  'Linux x86_64') platform=linux-x64 ;;
  'Linux aarch64') platform=linux-arm64 ;;
  'Darwin arm64') platform=darwin-arm64 ;;
  *) echo "no code-server for $(uname -sm)" >&2; exit 1 ;;
esac
root="$editors/vscode-$code_server"
if [[ ! -e "$root/.complete" ]]; then
  rm -rf "$root"; mkdir -p "$root"
  npm install --prefix "$root" --ignore-scripts --no-audit --no-fund --silent \
    "node-$platform@$node" "code-server@$code_server" "playwright-core@$playwright"
  (
    export PATH="$root/node_modules/node-$platform/bin:$PATH"
    cd "$root/node_modules/code-server/lib/vscode"
    npm install --omit=dev --ignore-scripts --no-audit --no-fund --silent
  )
  touch "$root/.complete"
fi
program="$root/node_modules/node-$platform/bin/node"
command_named code-server <<END
exec "$program" "$root/node_modules/code-server/out/node/entry.js" "\$@"
END
command_named vscode-server <<END
exec "$program" "$root/node_modules/code-server/lib/vscode/out/server-main.js" "\$@"
END
command_named node-playwright <<END
NODE_PATH="$root/node_modules" exec "$program" "\$@"
END

browser

# The extension as its users get it.
cd "$here/../../vscode-client"
export PATH="$(dirname "$program"):$PATH"
npm ci --ignore-scripts --no-audit --no-fund --silent
npm run --silent types
npm run --silent lint
npm test --silent
python3 scripts/bundle_server.py
npm run --silent package -- --out out/
