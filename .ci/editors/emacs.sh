#!/usr/bin/env bash
# Emacs 28 with eglot 1.9, and Emacs 30 with the eglot that it has: `emacs-28` and `emacs-30`, and for each the program
# that talks to it, `emacsclient-28` and `emacsclient-30`. From Debian 12 and its backports.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/beside_the_system.sh"

unpack emacs-28 bookworm emacs-nox elpa-eglot
unpack emacs-30 'bookworm bookworm-backports' emacs-nox

for version in 28 30; do
  root="$editors/emacs-$version"
  share=$(find "$root/usr/share/emacs" -maxdepth 1 -name "$version.*")
  image=$(find "$root/usr/libexec/emacs" -name 'emacs*.pdmp')
  packages=$(find "$root/usr/share/emacs/site-lisp" -mindepth 2 -maxdepth 2 -type d -path '*elpa-src/*' | paste -sd:)
  command_named "emacs-$version" <<END
export EMACSLOADPATH="${packages:+$packages:}$share/lisp" EMACSDATA="$share/etc" EMACSDOC="$share/etc"
export EMACSPATH="$(dirname "$image")"
exec $(started "emacs-$version" usr/bin/emacs-nox) --dump-file="$image" "\$@"
END
  command_named "emacsclient-$version" <<END
exec $(started "emacs-$version" usr/bin/emacsclient.emacs) "\$@"
END
done

# What Debian compiles when it installs a package.
find "$editors/emacs-28/usr/share/emacs/site-lisp/elpa-src" -name '*.el' ! -name '*-pkg.el' ! -name '*-autoloads.el' -print0 |
  xargs -0 "$editors/bin/emacs-28" -Q --batch -f batch-byte-compile 2>/dev/null || true
