#!/usr/bin/env bash
# Checks the package as its users get it: packs it, lints the tarball, installs it into an empty
# project, and there runs and type-checks a small program and asks the command for help.
# Leaves nothing behind. Needs `npm ci` first.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$root/node_modules/.bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { printf '\n== %s\n' "$*"; }

# No sources, tests or source maps: only what "files" in package.json lists.
cd "$root"
npm pack --silent --pack-destination "$work"
tarball=$(echo "$work"/gitlocket-*.tgz)
# No sources, tests or maps to them: only what package.json's "files" promise.
tar -tzf "$tarball" | sed 's|^package/||' | sort >"$work/contents"
if grep -vE '^(src/bin/[a-z-]+\.cjs|dist/command/([a-z0-9-]+\.(cjs|cjs\.map|wasm)|LICENSES\.txt)|dist/.*\.(js|d\.ts)|dist/web/(libsodium\.wasm|LICENSES\.txt)|dist/console/client/(index\.html|LICENSES\.txt|assets/[A-Za-z0-9_-]+\.(css|svg))|dist/plugin/(\.claude-plugin/(plugin|marketplace)\.json|\.mcp\.json|hooks/hooks\.json|skills/[a-z-]+/SKILL\.md)|docs/([A-Z-]+\.md|console(-dark)?\.png|tour(-still)?\.svg|decisions/[A-Za-z0-9-]+\.md|recipes/[a-z/-]+\.m?js|recipes/page/index\.html|recipes/worker/wrangler\.jsonc|recipes/([a-z-]+/)?README\.md|recipes/(fleet|sandboxes)/(Dockerfile|[a-z]+\.(conf|json|yaml|yml)))|[A-Z]+\.md|LICENSE|package\.json)$' "$work/contents"; then
  echo 'The tarball holds files that it should not' >&2
  exit 1
fi

step 'publint'
"$bin/publint" run --strict "$tarball"

step 'are the types wrong'
"$bin/attw" --profile esm-only --no-definitely-typed --no-emoji "$tarball"

step 'install into an empty project'
mkdir "$work/project"
cd "$work/project"
cp "$root/scripts/package-check.mjs" .
npm init --yes >/dev/null
npm pkg set type=module
npm install --omit=dev --no-audit --no-fund "$tarball"
# Without skipLibCheck: the declarations must stand alone.
step 'run a program'
node package-check.mjs

# Without skipLibCheck: our declarations must stand alone.
step 'type-check it'
"$bin/tsc" --noEmit --strict --allowJs --checkJs --module nodenext --target es2023 \
  --typeRoots "$root/node_modules/@types" --types node package-check.mjs

step 'ask the command for help'
npx --no-install gitlocket --help >help.txt
grep -q gitlocket help.txt

step 'the first five minutes: two machines'
git init --quiet --bare --initial-branch=main "$work/memory.git"
on() {
  local machine=$1
  shift
  HOME=$work/$machine XDG_DATA_HOME='' XDG_CONFIG_HOME='' XDG_STATE_HOME='' \
    npx --no-install gitlocket "$@" </dev/null
}
mkdir "$work/first" "$work/second"
on first init >init.txt
grep -o 'GLKR1-[0-9A-Z-]*' init.txt | head -1 >"$work/recovery-key"
chmod 600 "$work/recovery-key"
on first create notes.md --text 'from the first machine' >/dev/null
on first remote add origin "$work/memory.git" >/dev/null
on first sync >/dev/null
address=$(on first status --json | node -pe "JSON.parse(fs.readFileSync(0)).address")
GITLOCKET_RECOVERY_KEY_FILE=$work/recovery-key on second join "$work/memory.git#$address" >/dev/null
on first sync >/dev/null
test "$(on second cat notes.md)" = 'from the first machine'
words() { on "$1" status --json | node -pe 'JSON.parse(fs.readFileSync(0)).head_fingerprint.join(" ")'; }
echo "both show: $(words first)"
test "$(words first)" = "$(words second)"
