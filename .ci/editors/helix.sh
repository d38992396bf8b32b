#!/usr/bin/env bash
# Helix 25.01, as `hx`. From Debian 13.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/beside_the_system.sh"

unpack helix trixie hx
command_named hx <<END
export HELIX_RUNTIME="$editors/helix/usr/lib/hx/runtime"
exec $(started helix usr/lib/hx/hx) "\$@"
END
