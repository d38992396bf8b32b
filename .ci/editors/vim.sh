#!/usr/bin/env bash
# Vim 9.0 with ALE 3.3, as `vim-ale`. From Debian 12.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/beside_the_system.sh"

unpack vim bookworm vim vim-ale
root="$editors/vim"
mkdir -p "$root/packages/pack/debian/start"
ln -sfn "$root/usr/share/vim-ale" "$root/packages/pack/debian/start/ale"
command_named vim-ale <<END
export VIMRUNTIME="$root/usr/share/vim/vim90"
exec $(started vim usr/bin/vim.basic) --cmd "set packpath^=$root/packages" "\$@"
END
