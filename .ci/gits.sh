#!/usr/bin/env bash
# Fetches the gits of Debian's other suites, so that the tests can push to them and fetch from them,
# and prints the directory that holds them as <suite>/bin/git: `GITS=$(.ci/gits.sh) npm test`. Each
# lies beside the libraries of its suite and is started by their loader; nothing is installed. What
# is there already is not fetched again: remove it for newer ones. Must not write into the tree.
set -euo pipefail

suites=(bullseye trixie sid)
packages=(git libc6 zlib1g libpcre2-8-0)
gits=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gitlocket/gits

say() { printf '%s\n' "$*" >&2; }

# The Debian mirror of this machine, whichever it is.
find_mirror() {
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } | awk '
    { sub(/#.*/, ""); for (i = 1; i <= NF; i++) if ($i ~ /:\/\/.*\/debian\/?$/) found = $i }
    END { print found; exit found == "" }'
}

# With lists of its own: what the machine would install stays as it is.
fetch_suite() (
  suite=$1 work=$2
  mkdir -p "$work"/{lists/partial,archives/partial,debs,root}
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
    >"$work/sources.list"
  cd "$work/debs"
  apt() {
    apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
      -o Dir::State::Lists="$work/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$work" \
      -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)" "$@"
  }
  apt update >&2 && apt download "${packages[@]}" >&2 || return
  for package in *.deb; do dpkg -x "$package" "$work/root" || return; done
)

# A git that starts gits finds itself, not the machine's: GIT_EXEC_PATH leads its search.
write_launcher() {
  local work=$1 home=$2 loader
  loader=$(cd "$work/root" && ls -d {,usr/}lib/*-linux-gnu/ld-linux*.so.* 2>/dev/null || true)
  loader=${loader%%$'\n'*}
  [ -n "$loader" ] || return
  mkdir "$work/bin"
  cat >"$work/bin/git" <<LAUNCHER
#!/bin/sh
libraries='$home/root/${loader%/*}:$home/root/usr/lib/$(basename "${loader%/*}")'
GIT_EXEC_PATH='$home/bin' exec '$home/root/$loader' --library-path "\$libraries" '$home/root/usr/bin/git' "\$@"
LAUNCHER
  chmod +x "$work/bin/git"
}

# Appears whole or not at all.
provide() {
  local suite=$1 home=$gits/$1 work
  work=$(mktemp -d "$gits/.$suite.XXXXXX")
  if fetch_suite "$suite" "$work" && write_launcher "$work" "$home"; then
    rm -rf "$work"/{lists,archives,debs} "$work"/*.bin "$home"
    chmod 755 "$work"
    mv "$work" "$home"
    "$home/bin/git" --version >&2 && return
  fi
  rm -rf "$work" "$home"
  return 1
}

provide_patiently() {
  local attempt
  for attempt in 1 2 3; do
    provide "$1" && return
    sleep $((attempt * 2))
  done
  say "The git of $1 cannot be had"
  return 1
}

for program in apt-get dpkg; do
  command -v "$program" >/dev/null || { say "Without $program no other gits are fetched"; exit 1; }
done
mkdir -p "$gits"
mirror=$(find_mirror) || { say "No mirror of Debian is configured"; exit 1; }
missing=0
for suite in "${suites[@]}"; do
  "$gits/$suite/bin/git" --version >/dev/null 2>&1 || provide_patiently "$suite" || missing=1
done
printf '%s\n' "$gits"
exit "$missing"
