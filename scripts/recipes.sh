#!/usr/bin/env bash
# Runs the recipes of docs/recipes as their readers would: in a copy of the folder, with the
# versions of its lock file and the packed package, each against a scripted model. Prints one line
# for each, and ends at the first that is broken. Leaves no file and no process behind. Needs
# `npm ci` first.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
# Whatever is temporary to a recipe is temporary to this run.
export TMPDIR=$work
running=

finish() {
  if [ -n "$running" ]; then
    kill "$running" 2>/dev/null || true
    wait "$running" || true
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# Runs a command behind a name, and shows what it prints only if it fails. In the background: of one
# in the foreground bash would hear no signal before its end.
step() {
  local name=$1
  shift
  "$@" >"$work/log" 2>&1 </dev/null &
  running=$!
  local status=0
  wait "$running" || status=$?
  running=
  [ "$status" = 0 ] && return
  echo "not ok $name"
  cat "$work/log"
  exit 1
} >&2

recipe() {
  step "$1" node "${@:2}"
  echo "ok $1"
}

cd "$root"
step 'npm pack' npm pack --silent --pack-destination "$work"
tar -cf - --exclude node_modules --exclude .next -C docs recipes | tar -xf - -C "$work"

cd "$work/recipes"
step 'npm ci' npm ci --ignore-scripts --no-audit --no-fund
step 'npm install' npm install --no-save --ignore-scripts --no-audit --no-fund ../gitlocket-*.tgz
cmp -s package-lock.json "$root/docs/recipes/package-lock.json" ||
  { echo 'not ok: the lock file has changed' >&2; exit 1; }

# As the programs of readers who write TypeScript would be checked.
step types "$root/node_modules/.bin/tsc" --noEmit --strict --allowJs --checkJs --skipLibCheck \
  --module nodenext --target es2023 --typeRoots "$root/node_modules/@types" --types node \
  {openai,ai-sdk,langchain}/agent.mjs tenants/*.mjs next/app/*.js next/app/*/*.js

recipe openai check/agent.mjs openai
recipe ai-sdk check/agent.mjs ai-sdk
recipe langchain check/agent.mjs langchain
recipe tenants check/tenants.mjs
recipe next check/next.mjs
recipe worker check/worker.mjs
# Chromium, as .ci/run installs it.
if [ -e /usr/bin/chromium ]; then
  recipe page check/page.mjs
else
  echo 'skipped: page, install chromium'
fi
