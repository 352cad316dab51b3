// Which programs of other people are here to test against, found out once. A test that needs one
// names it when it is skipped, and `.ci/run`, which installs them all, refuses the skip:
//
//   const ssh = requires('ssh-keygen')
//   … test.skipIf(ssh.missing)(`ssh-keygen accepts the group signature${ssh.note}`, () => …)

import { spawnSync } from 'node:child_process'

const packages = {
  git: 'git',
  'ssh-keygen': 'openssh-client',
  sshd: 'openssh-server',
  python3: 'python3',
  'git-filter-repo': 'git-filter-repo',
  openssl: 'openssl',
  gitolite: 'gitolite3',
  bash: 'bash',
  zsh: 'zsh',
  fish: 'fish',
  chromium: 'chromium',
  postgres: 'postgresql',
  pgbouncer: 'pgbouncer',
  claude: 'the npm package @anthropic-ai/claude-code',
  codex: 'the npm package @openai/codex',
  gemini: 'the npm package @google/gemini-cli',
  opencode: 'the npm package opencode-ai',
  workerd: 'the npm package workerd',
  deno: 'the npm package deno',
  bun: 'the npm package bun',
} as const

type Tool = keyof typeof packages

export interface Requirement {
  readonly missing: boolean
  /** Ends the test's name: empty if the tool is here, else ` (skipped: install <package>)`. */
  readonly note: string
}

const found = new Map<Tool, Requirement>()

export function requires(tool: Tool): Requirement {
  const known = found.get(tool) ?? look(tool)
  found.set(tool, known)
  return known
}

// sshd lives where only root's PATH looks, and the database server outside of any.
function look(tool: Tool): Requirement {
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` }
  const search = 'command -v "$1" || ls /usr/lib/postgresql/*/bin/"$1"'
  const { status } = spawnSync('/bin/sh', ['-c', search, 'sh', tool], { env })
  const missing = status !== 0
  return { missing, note: missing ? ` (skipped: install ${packages[tool]})` : '' }
}
