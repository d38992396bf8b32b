# Sourced by the scripts beside it: programs from releases of the distribution, laid beside the system.
#
# They come from the mirror that apt is set up with, are verified by apt, and need no root. Each program gets its own
# folder with everything that it links to, its C library as well, so that a newer release runs on an older one.

editors=${JAXPERT_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/jaxpert-editors}
mkdir -p "$editors/bin"

# unpack NAME SUITES PACKAGE...: lays the packages, and what they depend on, into $editors/NAME.
# The last of SUITES is preferred.
unpack() {
  local name=$1 suites=$2 wanted=$*; shift 2
  local root="$editors/$name" state mirror suite
  [[ $(cat "$root/.complete" 2> /dev/null) == "$wanted" ]] && return
  rm -rf "$root"; mkdir -p "$root"
  state=$(mktemp -d)
  mkdir -p "$state/lists/partial" "$state/archives/partial"
  # shellcheck disable=SC2016  # it is apt that replaces this
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -n 1)
  for suite in $suites; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
  done > "$state/sources.list"
  : > "$state/status"
  local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::Etc::preferencesparts=/dev/null
    -o "Dir::State::lists=$state/lists" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state"
    -o "Dir::Cache::archives=$state/archives" -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)"
    -o APT::Install-Recommends=0 -o APT::Get::Assume-Yes=1 -o "APT::Default-Release=${suites##* }")
  "${apt[@]}" update
  "${apt[@]}" install --download-only "$@"
  local package
  for package in "$state"/archives/*.deb; do
    dpkg-deb -x "$package" "$root"
  done
  rm -rf "$state"
  echo "$wanted" > "$root/.complete"
}

# started NAME PROGRAM: the command that starts a program of $editors/NAME with the libraries that lie there.
started() {
  local root="$editors/$1" libraries linker
  libraries=$(dirname "$(find "$root/usr/lib" "$root/lib" -name libc.so.6 2>/dev/null | head -n 1)")
  linker=$(find "$libraries" -maxdepth 1 -name 'ld-linux*' | head -n 1)
  printf '"%s" --library-path "%s:%s" "%s"' \
    "$linker" "$libraries" "$root/usr/lib/$(basename "$libraries")" "$root/$2"
}

# command_named NAME: makes the executable $editors/bin/NAME of the shell commands on standard input.
command_named() {
  { echo '#!/bin/sh'; cat; } > "$editors/bin/$1"
  chmod +x "$editors/bin/$1"
}

# environment_of NAME PACKAGE...: a virtual environment in $editors/NAME with packages from the index of pip.
environment_of() {
  local root="$editors/$1" wanted=$*; shift
  [[ $(cat "$root/.complete" 2> /dev/null) == "$wanted" ]] && return
  python3 -m venv --clear "$root"
  "$root/bin/python" -m pip install --quiet "$@"
  echo "$wanted" > "$root/.complete"
}

# browser: Chromium, the browser for editors that live in one; it needs the system's libraries and fonts, so apt installs it.
browser() {
  command -v chromium > /dev/null && return
  local sudo=()
  [[ $(id -u) == 0 ]] || sudo=(sudo)
  "${sudo[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 update
  "${sudo[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 install --yes --no-install-recommends \
    chromium fonts-noto-color-emoji fonts-dejavu-core
}
