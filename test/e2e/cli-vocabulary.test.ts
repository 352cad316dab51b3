// The vocabulary of --json: every command is run, and its answer is a page, whose items have a
// `type`, or an object that has one.

import { expect, test } from 'vitest'
import { loadCommands } from '../../src/cli/table.ts'
import { bareRemote } from '../support/clones.ts'
import { newHome } from './cli-process.ts'

type Call = readonly [words: string, type: string]

/** Pages have no `type`, as those of the Memory Stores API. A name in capitals is filled in. */
const page = 'page'
const calls: readonly Call[] = [
  ['init', 'init'],
  ['init', 'init'],
  ['create a.md --text one', 'create'],
  ['write b/c.md --text two', 'write'],
  ['append a.md --text three', 'append'],
  ['str-replace a.md --old three --new 3', 'str_replace'],
  ['insert a.md --line 0 --text zero', 'insert'],
  ['edit a.md', 'edit'],
  ['mv b/c.md c.md', 'mv'],
  ['view', page],
  ['view a.md', 'memory'],
  ['tool', 'tool'],
  ['ls --at VERSION', page],
  ['ls', page],
  ['cat a.md', 'memory'],
  ['search one', page],
  ['log', page],
  ['log a.md -p', page],
  ['show VERSION', 'memory_version'],
  ['diff VERSION', 'diff'],
  ['diff --from 2020-01-01', 'diff'],
  ['blame a.md', 'blame'],
  ['rm c.md', 'rm'],
  ['restore c.md', 'restore'],
  ['rollback --session agent --dry-run', 'rollback'],
  ['undo agent --dry-run', 'undo'],
  ['expire --unchanged 1d', 'expire'],
  ['redact VERSION --overwrite --dry-run', 'redact'],
  ['redact VERSION --overwrite --yes --certificate proof', 'redact'],
  ['certificate list', page],
  ['certificate show VERSION', 'certificate_show'],
  ['certificate verify proof', 'certificate_verify'],
  ['export files', 'export'],
  ['import files --on-conflict skip', 'import'],
  ['mirror files', 'mirror'],
  ['mirror list', page],
  ['mirror review files', 'mirror'],
  ['mirror confirm files', 'mirror'],
  ['mirror refill files', 'mirror'],
  ['mirror login', 'mirror_login'],
  ['mirror pause files', 'mirror_pause'],
  ['mirror stop files', 'mirror_stop'],
  ['status', 'status'],
  ['settings --name notes', 'settings'],
  [`guard allow ${'0'.repeat(64)}`, 'guard_allow'],
  [`guard revoke ${'0'.repeat(64)}`, 'guard_revoke'],
  ['guard list', 'guard_list'],
  ['doctor', 'doctor'],
  ['verify --absence', 'verify'],
  ['compact', 'compact'],
  ['device card', 'device_card'],
  ['device add CARD --yes', 'device_add'],
  ['device list', page],
  ['device role OTHER reader', 'device_role'],
  ['device rename OTHER berta', 'device_rename'],
  ['device remove OTHER --yes', 'device_remove'],
  ['audit', 'audit'],
  ['report', 'gitlocket_report'],
  ['report --out report.html', 'report'],
  ['report verify report.html', 'report_verify'],
  ['key show', 'key_show'],
  ['key passwd --remove', 'key_passwd'],
  ['key rotate', 'key_rotate'],
  ['key recovery --keep-old', 'key_recovery'],
  ['key quota 3', 'key_quota'],
  ['key operator', 'key_operator'],
  ['remote add origin URL', 'remote'],
  ['remote list', page],
  ['sync', 'sync'],
  ['fetch --all', 'fetch'],
  ['pull', 'sync'],
  ['push', 'sync'],
  ['grant give --label ci', 'grant'],
  ['grant give --check', 'grant_check'],
  ['grant list', page],
  ['log --grant ci', page],
  ['grant end ci', 'grants_ended'],
  ['grant givers', 'grant_givers'],
  ['remote add other URL', 'remote'],
  ['sync', page],
  ['remote set-membership other', 'remote_set_membership'],
  ['remote remove other', 'remote_remove'],
  ['conflicts', page],
  ['setup cursor', 'setup'],
  ['setup cursor --dry-run', 'setup'],
  ['hook session-start', 'hook_session_start'],
  ['hook file-written', 'hook_file_written'],
  ['hook user-prompt', 'hook_user_prompt'],
  ['hook pre-compact', 'hook_pre_compact'],
  ['hook session-end', 'hook_session_end'],
  ['workspace create other', 'workspace'],
  ['workspace list', page],
  ['store create notes', 'memory_store'],
  ['store list', page],
  ['api-key create', 'api_key'],
  ['api-key list', page],
  ['api-key revoke KEY', 'api_key'],
  ['serve status', 'serve_status'],
  ['serve backup copy', 'serve_backup'],
  ['serve rotate-operator', 'serve_rotate_operator'],
  ['serve restore copy --data elsewhere-served', 'serve_restore'],
  ['serve rotate-identity --to next --data elsewhere-served', 'serve_rotate_identity'],
  ['completion bash', 'completion'],
  ['recover', 'recover'],
  ['doctor --repair', 'doctor'],
  ['--store elsewhere join URL#STORE --trust-first-contact', 'join'],
]

test('every answer is a page or has a type', { tags: 'slow' }, async () => {
  const [home, other] = [newHome(), newHome()]
  const card = await other.json('device', 'card')
  const filled: Record<string, string> = {
    URL: bareRemote(),
    CARD: home.file('card', String(card['card'])),
    OTHER: String(card['device_id']),
  }
  const found: Call[] = []
  for (const [words] of calls) {
    const full = words.replaceAll(/[A-Z]{3,}/g, (name) => filled[name] ?? name).split(' ')
    const session = full[0] === 'append' ? ['--session', 'agent'] : []
    const all = [...full, ...session, '--json']
    const env = { EDITOR: 'true' }
    // Only a process has a standard input.
    const reads = /^(?:tool|hook user-prompt)$/.test(words)
    const { stdout, stderr } = await (reads ? home.run(all) : home.call(all, env))
    expect(stdout, `${words}: ${stderr}`).toMatch(/^\{.*\}\n$/)
    const json = JSON.parse(stdout)
    found.push([words, typeOf(json)])
    filled['STORE'] ??= json.memory_store_id
    if (json.type === 'api_key') filled['KEY'] = json.id
    filled['VERSION'] = json.memory_version_ids?.[0] ?? filled['VERSION'] ?? ''
  }
  expect(found).toEqual(calls)
})

test('every command is among them', async () => {
  const called = calls.map(([words]) => words.replace(/^--store \S+ /, ''))
  // One speaks a protocol, one prints its address first (cli-console.test.ts), one a line for each
  // event (cli-serve-audit.test.ts); the rest needs a database (cli-engine.test.ts).
  const isOther = (name: string): boolean =>
    /^(?:mcp|console|engine .*|serve (?:accept-restored|audit))$/.test(name)
  const answering = (await loadCommands()).filter(({ name }) => !isOther(name))
  const missing = answering.filter(({ name }) => !called.some((one) => isCallOf(one, name)))
  expect(missing.map(({ name }) => name)).toEqual([])
})

/** Items of any list that an answer calls `data` say their type too. */
function typeOf(json: Readonly<Record<string, unknown>>): string {
  const { type, data, next_page: next } = json
  if (data === undefined) return String(type)
  if (!Array.isArray(data) || next === undefined) return 'no page'
  const isTyped = data.every((item: unknown) => typeof Object(item).type === 'string')
  return isTyped ? (typeof type === 'string' ? type : page) : 'a page of what has no type'
}

function isCallOf(words: string, name: string): boolean {
  return words === name || words.startsWith(`${name} `)
}
