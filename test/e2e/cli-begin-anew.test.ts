// A sandbox's clone begins anew by itself after something older was redacted, in each program that
// sends: it reports that, sends each unsent change once, and keeps nothing of the redacted text.
// @module-tag slow

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { git } from '../support/temporary.ts'
import { type Ended, ended, type Home, newHome, newHomeWithStore } from './cli-process.ts'

const CANARY = 'canary-5b1f'
const BEGUN = /origin: began anew from the state that dev_\S+ describes/

let granter: Home
let holder: Home
let remote: string
/** Objects of the clone that the redaction has removed from the remote. */
let erased: ReadonlySet<string>

beforeEach(async () => {
  granter = await newHomeWithStore()
  remote = bareRemote()
  await granter.ok('remote', 'add', 'origin', remote)
  await granter.ok('create', 'secret.md', '--text', CANARY)
  await granter.ok('create', 'notes/a.md', '--text', 'first')
  const { text } = await granter.json('grant', 'give', '--label', 'ci')
  holder = newHome()
  Object.assign(holder.variables, {
    GITLOCKET_GRANT: String(text),
    GITLOCKET_REMOTE: remote,
  })
  expect(await holder.ok('cat', 'secret.md')).toBe(CANARY)
})

function cloneOf(home: Home): string {
  const grants = join(home.directory, '.local/share/gitlocket/grants')
  const [name = ''] = readdirSync(grants)
  return join(grants, name)
}

function objectsOf(directory: string): readonly string[] {
  const how = ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)']
  return git(how, directory).trim().split('\n')
}

function reached(): ReadonlySet<string> {
  const how = ['rev-list', '--objects', '--no-object-names', 'main']
  return new Set(git(how, remote).trim().split('\n'))
}

/** By the device that gave the grant, of a text that the clone began with. */
async function redactBelow(): Promise<void> {
  const before = reached()
  const { exitCode } = await granter.call(['redact', '--path', 'secret.md', '--delete', '--yes'])
  expect(exitCode).toBe(0)
  await granter.ok('sync')
  const after = reached()
  const removed = new Set([...before].filter((oid) => !after.has(oid)))
  erased = new Set(objectsOf(cloneOf(holder)).filter((oid) => removed.has(oid)))
  expect(erased.size).toBeGreaterThan(0)
}

/** A change of the sandbox that is only in its clone. */
async function writeUnsent(path: string): Promise<void> {
  renameSync(remote, `${remote}-away`)
  const written = await holder.call(['create', path, '--text', 'unsent'])
  expect(written.exitCode).toBe(13)
  renameSync(`${remote}-away`, remote)
}

/** Each of these was sent once, and the clone has nothing of the redacted text. */
async function expectSent(...paths: readonly string[]): Promise<void> {
  await granter.ok('sync')
  await granter.ok('verify')
  const { data } = await granter.json('log', '--grant', 'ci')
  const versions = Array.isArray(data) ? data.map((version) => version.path) : []
  expect(versions).toHaveLength(paths.length)
  expect(new Set(versions)).toEqual(new Set(paths.map((path) => `/${path}`)))
  for (const path of paths) expect(await granter.ok('cat', path)).toBe('unsent')
  await holder.ok('sync')
  const stored = objectsOf(cloneOf(holder))
  expect(stored.filter((oid) => erased.has(oid))).toEqual([])
  expect((await holder.call(['cat', 'secret.md'])).exitCode).not.toBe(0)
  const files = readdirSync(holder.directory, { recursive: true, withFileTypes: true })
  const texts = files
    .filter((file) => file.isFile())
    .map(({ parentPath, name }) => {
      return { name, holdsIt: readFileSync(join(parentPath, name)).includes(CANARY) }
    })
  expect(texts.length).toBeGreaterThan(5)
  expect(texts.filter(({ holdsIt }) => holdsIt)).toEqual([])
}

function expectOne(pattern: RegExp, { stderr }: Ended): void {
  expect(stderr.match(new RegExp(pattern, 'g'))).toHaveLength(1)
}

async function answered({ stdout }: ChildProcess): Promise<void> {
  if (stdout !== null) await once(stdout, 'data')
}

test('a command that writes', async () => {
  await writeUnsent('one.md')
  await redactBelow()
  const done = await holder.run(['create', 'two.md', '--text', 'unsent'])
  expect(done.exitCode).toBe(0)
  expectOne(BEGUN, done)
  expect(done.stderr).toContain('2 changes were written again')
  await expectSent('one.md', 'two.md')
})

test('sync, in its report', async () => {
  await writeUnsent('one.md')
  await redactBelow()
  const done = await holder.run(['sync', '--json'])
  expect([done.exitCode, done.stderr]).toEqual([0, ''])
  expect(JSON.parse(done.stdout)).toMatchObject({ begun_anew: { changes: 1 } })
  await expectSent('one.md')
})

test('tool --stream, with a write that is not sent yet', async () => {
  const child = holder.start(['tool', '--stream'])
  const done = ended(child)
  child.stdin?.write('{"command":"view","path":"/memories"}\n')
  await answered(child)
  await redactBelow()
  const input = { command: 'create', path: '/memories/one.md', file_text: 'unsent' }
  child.stdin?.write(`${JSON.stringify(input)}\n`)
  await answered(child)
  child.kill('SIGTERM')
  const end = await done
  expect(end.exitCode).toBe(0)
  expectOne(BEGUN, end)
  await expectSent('one.md')
})

test('mcp, with a write that is not sent yet', async () => {
  const child = holder.start(['mcp'])
  const done = ended(child)
  const send = async (message: object): Promise<void> => {
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    if ('id' in message) await answered(child)
  }
  const clientInfo = { name: 'client', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  await send({ id: 0, method: 'initialize', params })
  await send({ method: 'notifications/initialized' })
  const call = (id: number, input: object): Promise<void> => {
    return send({ id, method: 'tools/call', params: { name: 'memory', arguments: input } })
  }
  await call(1, { command: 'view', path: '/memories' })
  await redactBelow()
  await call(2, { command: 'create', path: '/memories/one.md', file_text: 'unsent' })
  child.stdin?.end()
  const end = await done
  expect(end.exitCode).toBe(0)
  expectOne(BEGUN, end)
  await expectSent('one.md')
})

test('a hook', async () => {
  await writeUnsent('one.md')
  await redactBelow()
  const input = JSON.stringify({ session_id: 's1' })
  const done = await holder.run(['hook', 'pre-compact'], { input })
  expect(done.exitCode).toBe(0)
  expectOne(BEGUN, done)
  await expectSent('one.md')
})
