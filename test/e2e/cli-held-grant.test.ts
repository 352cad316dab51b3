// A grant on a machine that has nothing: every command works with two variables, sends what it
// writes, and gives the grant to no program that it starts.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDefaultStore } from '../../src/index.ts'
import { bareRemote } from '../support/clones.ts'
import { fetching, makeCertificate, on, startGitServer } from '../support/git-server.ts'
import { startProxy } from '../support/proxy.ts'
import { fillDisk, isRoot, mountDisk, unmountDisk } from '../support/small-disk.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { ended, type Home, newHome, newHomeWithStore } from './cli-process.ts'

const openssl = requires('openssl')

interface Given {
  readonly granter: Home
  readonly holder: Home
  readonly remote: string
}

async function given(...options: readonly string[]): Promise<Given> {
  const granter = await newHomeWithStore()
  const remote = bareRemote()
  await granter.ok('remote', 'add', 'origin', remote)
  await granter.ok('create', 'notes/a.md', '--text', 'first')
  await granter.ok('create', 'notes/b.md', '--text', 'second')
  const { stdout } = await granter.call(['grant', 'give', '--label', 'ci', ...options])
  const grant = /GITLOCKET_GRANT=(\S+)/.exec(stdout)?.[1] ?? ''
  const holder = newHome()
  Object.assign(holder.variables, { GITLOCKET_GRANT: grant, GITLOCKET_REMOTE: remote })
  return { granter, holder, remote }
}

async function firstLine({ stdout }: ChildProcess): Promise<void> {
  if (stdout !== null) await once(stdout, 'data')
}

function headOf(remote: string): string {
  return git(['rev-parse', 'main'], remote).trim()
}

test('a command on an empty machine reads, and the next one sends what it writes', async () => {
  const { granter, holder, remote } = await given()
  expect(await holder.ok('cat', 'notes/a.md')).toBe('first')
  const before = headOf(remote)
  await holder.ok('create', 'notes/c.md', '--text', 'by a job')
  expect(headOf(remote)).not.toBe(before)
  await granter.ok('sync')
  expect(await granter.ok('cat', 'notes/c.md')).toBe('by a job')
  await granter.ok('verify')
  const status = await holder.call(['status', '--json'])
  expect(JSON.parse(status.stdout)).toMatchObject({
    role: 'writer',
    remotes: [{ unsent_commits: 0 }],
  })
})

test('questions about earlier changes name the command that fetches them', async () => {
  const { holder } = await given()
  const log = await holder.call(['log'])
  expect([log.exitCode, log.stdout]).toEqual([0, ''])
  expect(log.stderr).toContain('gitlocket fetch --all')
  const verified = await holder.call(['verify'])
  expect(verified.exitCode).not.toBe(0)
  expect(verified.stderr).toContain('gitlocket fetch --all')
  for (const words of [
    ['device', 'list'],
    ['grant', 'list'],
  ]) {
    const { stdout, stderr } = await holder.call(words)
    expect([words, stdout]).toEqual([words, ''])
    expect(stderr).toContain('gitlocket fetch --all')
  }
  for (const words of [
    ['show', 'notes/a.md'],
    ['diff', 'notes/a.md'],
  ]) {
    const { exitCode, stderr } = await holder.call(words)
    expect([words, exitCode]).toEqual([words, 4])
    expect(stderr).toContain('gitlocket fetch --all')
  }
  await holder.ok('fetch', '--all')
  expect(await holder.ok('show', 'notes/a.md')).toContain('first')
  expect(await holder.ok('device', 'list')).toContain('owner')
  await holder.ok('verify')
  expect(await holder.ok('log', 'notes/a.md')).toContain('created /notes/a.md')
})

test('a change that was written and could not be sent ends a command with 13', async () => {
  const { holder, remote } = await given()
  await holder.ok('ls')
  renameSync(remote, `${remote}-away`)
  const written = await holder.call(['create', 'notes/c.md', '--text', 'kept', '--json'])
  expect(written.exitCode).toBe(13)
  expect(JSON.parse(written.stdout)).toMatchObject({ path: '/notes/c.md' })
  expect(JSON.parse(written.stderr).error.message).toContain('1 commit was not sent to origin')
  const input = JSON.stringify({ command: 'view', path: '/memories' })
  const answered = await holder.run(['tool'], { input })
  expect([answered.exitCode, answered.stderr]).toEqual([0, ''])
  expect(await holder.ok('cat', 'notes/c.md')).toBe('kept')
  const taken = await holder.call(['create', 'notes/c.md', '--text', 'again'])
  expect(taken.exitCode).toBe(4)
  renameSync(`${remote}-away`, remote)
  await holder.ok('sync')
})

test('a mirror works in a sandbox, and is sent', async () => {
  const { granter, holder } = await given()
  const notes = join(holder.directory, 'notes')
  const textOf = (name: string) => readFileSync(join(notes, name), 'utf8')
  mkdirSync(notes)
  expect(await holder.ok('mirror', 'notes')).toContain('wrote 2 files')
  expect(textOf('a.md')).toBe('first')
  writeFileSync(join(notes, 'a.md'), 'first\nby the sandbox\n')
  writeFileSync(join(notes, 'c.md'), 'new\n')
  await granter.ok('write', 'notes/b.md', '--text', 'second, changed')
  await granter.ok('sync')
  await holder.ok('sync')
  expect(await holder.ok('mirror', 'notes')).toContain('saved 2 changes')
  expect(textOf('b.md')).toBe('second, changed')
  await granter.ok('sync')
  expect(await granter.ok('cat', 'notes/c.md')).toBe('new\n')
  expect(await holder.ok('mirror', 'list')).toContain(notes)
  const login = await holder.call(['mirror', 'login'])
  expect([login.exitCode, login.stderr]).toEqual([6, expect.stringContaining('--watch')])
})

test('a directory is mirrored by one clone of a grant, not by another one', async () => {
  const { holder } = await given()
  const notes = join(holder.directory, 'notes')
  const other = { GITLOCKET_STORE: join(holder.directory, 'other') }
  expect((await holder.call(['ls'], other)).exitCode).toBe(0)
  mkdirSync(notes)
  await holder.ok('mirror', 'notes')
  writeFileSync(join(notes, 'a.md'), 'changed\n')
  await holder.ok('mirror', 'notes')
  const { exitCode, stderr } = await holder.call(['mirror', 'notes'], other)
  expect([exitCode, stderr]).toEqual([4, expect.stringContaining('mirrored already')])
  expect(readFileSync(join(notes, 'a.md'), 'utf8')).toBe('changed\n')
})

test('a mirror merges with a text from before the clone began once that is fetched', async () => {
  const { granter, holder } = await given()
  const lines = Array.from({ length: 24 }, (_, at) => {
    return { command: 'create', path: `/memories/${at}.md`, file_text: 'more' }
  })
  await granter.run(['tool', '--stream'], {
    input: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  })
  const { text } = await granter.json('grant', 'give')
  holder.variables['GITLOCKET_GRANT'] = String(text)
  const notes = join(holder.directory, 'notes')
  mkdirSync(notes)
  await holder.ok('mirror', 'notes')
  writeFileSync(join(notes, 'a.md'), 'first\nby the sandbox\n')
  await granter.ok('write', 'notes/a.md', '--text', 'by the device\nfirst')
  await granter.ok('sync')
  await holder.ok('sync')
  const left = await holder.call(['mirror', 'notes'])
  expect(left.stdout + left.stderr).toContain('`gitlocket fetch --all` gets the text')
  expect(readFileSync(join(notes, 'a.md'), 'utf8')).toBe('first\nby the sandbox\n')
  await holder.ok('fetch', '--all')
  await holder.call(['mirror', 'notes'])
  const merged = await holder.ok('cat', 'notes/a.md')
  expect(merged).toContain('by the sandbox')
  expect(merged).toContain('by the device')
  expect(readFileSync(join(notes, 'a.md'), 'utf8')).toBe(merged)
})

test('an undo tells that it does not reach the earlier changes', async () => {
  const { holder } = await given()
  await holder.ok('write', 'notes/a.md', '--text', 'changed', '--session', 's1')
  const undone = await holder.call(['undo', 's1', '--yes'])
  expect(undone.exitCode).toBe(0)
  expect(undone.stderr).toContain('before this clone began')
  expect(await holder.ok('cat', 'notes/a.md')).toBe('first')
})

test('commands that need a device are refused before anything is looked up', async () => {
  const { holder } = await given()
  await holder.ok('ls')
  for (const words of [
    ['device', 'add', 'no-card'],
    ['device', 'role', 'nobody', 'reader'],
    ['device', 'rename', 'nobody', 'name'],
    ['device', 'remove', 'nobody'],
    ['key', 'passwd', '--remove'],
    ['key', 'recovery'],
    ['key', 'rotate'],
    ['key', 'quota', '3'],
    ['grant', 'give', '--check'],
    ['grant', 'end', 'nobody'],
    ['grant', 'end', '--all'],
    ['grant', 'givers', 'owners'],
    ['guard', 'allow', 'no-hash'],
    ['remote', 'set-membership', 'nowhere'],
    ['settings', '--name', 'mine'],
    ['redact', 'memver_0000'],
    ['redact', '--path', '/memories/nowhere.md'],
    ['expire', '--unchanged', '1d', '--yes'],
    ['audit'],
    ['console'],
  ]) {
    const { exitCode, stderr } = await holder.call(words)
    expect([words, exitCode]).toEqual([words, 6])
    expect(stderr).toContain('A grant is for reading and changing memories alone')
    expect(stderr).toContain('hint: Run it on a device of the store')
  }
})

test('a holder names its own grant by its id', async () => {
  const { holder, granter } = await given()
  const { data } = await granter.json('grant', 'list')
  const id: string = Array.isArray(data) ? data[0].id : ''
  await holder.ok('write', 'notes/a.md', '--text', 'changed')
  for (const words of [
    ['log', '--grant', 'ci'],
    ['undo', '--grant', 'ci', '--yes'],
    ['rollback', '--grant', 'ci', '--yes'],
  ]) {
    const { exitCode, stderr } = await holder.call(words)
    expect([words, exitCode]).toEqual([words, 3])
    expect(stderr).toContain('This clone knows no grant "ci"')
    expect(stderr).toContain(id)
  }
  const log = await holder.call(['log', '--grant', id.slice(0, 10)])
  expect([log.exitCode, log.stdout]).toEqual([0, expect.stringContaining('/notes/a.md')])
  expect((await holder.call(['undo', '--grant', id, '--yes'])).exitCode).toBe(0)
  expect(await holder.ok('cat', 'notes/a.md')).toBe('first')
})

test('no other store is made in the place of the clone', async () => {
  const { holder, remote } = await given()
  for (const words of [['init', '--no-passphrase'], ['join', remote], ['recover']]) {
    const { exitCode, stderr } = await holder.call(words)
    expect([words, exitCode]).toEqual([words, 6])
    expect(stderr).toContain('unset GITLOCKET_GRANT')
  }
  expect(await holder.ok('cat', 'notes/a.md')).toBe('first')
})

test('an address may end in an end of line, and a file is no clone', async () => {
  const { holder, remote } = await given()
  const pasted = { GITLOCKET_REMOTE: ` ${remote}\r\n` }
  expect((await holder.call(['cat', 'notes/a.md'], pasted)).stdout).toBe('first')
  const bad = await holder.call(['ls'], { GITLOCKET_REMOTE: 'not an address' })
  expect([bad.exitCode, bad.stderr]).toEqual([2, expect.stringContaining('Check GITLOCKET_REMOTE')])
  const file = await holder.call(['ls'], { GITLOCKET_STORE: holder.file('occupied', '') })
  expect([file.exitCode, file.stderr]).toEqual([7, expect.stringContaining('is a file')])
})

test('a reader is told that it may not write, and nothing is kept', async () => {
  const { holder, remote } = await given('--role', 'reader')
  const before = headOf(remote)
  const { exitCode, stderr } = await holder.call(['create', 'x.md', '--text', 'x'])
  expect(exitCode).toBe(6)
  expect(stderr).toContain('for reading')
  expect(stderr).toContain('hint: Run it on a device whose role allows it')
  expect(headOf(remote)).toBe(before)
  expect(await holder.ok('ls')).toBe('notes/\n')
})

test.skipIf(openssl.missing)(
  `a sandbox whose traffic has to use a proxy begins and sends${openssl.note}`,
  async () => {
    const { granter, holder, remote } = await given()
    const tls = makeCertificate()
    const { url } = await startGitServer({ repository: remote, tls })
    const proxy = await startProxy()
    const file = join(temporaryDirectory(), 'ca.pem')
    writeFileSync(file, tls.cert)
    const variables = { HTTPS_PROXY: `http://${proxy.at}`, SSL_CERT_FILE: file, NO_PROXY: '' }
    Object.assign(holder.variables, { ...variables, GITLOCKET_REMOTE: url })
    expect(await holder.ok('cat', 'notes/a.md')).toBe('first')
    await holder.ok('create', 'notes/c.md', '--text', 'through a proxy')
    expect(new Set(proxy.seen.map(([method, target]) => `${method} ${target}`))).toEqual(
      new Set([`CONNECT ${new URL(url).host}`]),
    )
    await granter.ok('sync')
    expect(await granter.ok('cat', 'notes/c.md')).toBe('through a proxy')
  },
)

test('no program that is started has the grant', async () => {
  const { holder } = await given()
  const editor = `sh -c 'env | grep -c ^GITLOCKET_GRANT > "$0"; true'`
  await holder.run(['edit', 'notes/a.md'], { env: { VISUAL: editor } })
  expect(await holder.ok('cat', 'notes/a.md')).toBe('0\n')
})

test('a mistyped grant and a missing address say what to do, without the text', async () => {
  const { holder } = await given()
  const text = holder.variables['GITLOCKET_GRANT'] ?? ''
  const other = text.endsWith('0') ? '1' : '0'
  const mistyped = await holder.call(['ls'], { GITLOCKET_GRANT: `${text.slice(0, -1)}${other}` })
  expect(mistyped.stderr).toContain('typing error')
  const alone = await holder.call(['ls'], { GITLOCKET_REMOTE: '' })
  expect(alone.stderr).toContain('GITLOCKET_REMOTE')
  for (const { stderr, exitCode } of [mistyped, alone]) {
    expect(exitCode).not.toBe(0)
    expect(stderr).not.toContain(text.slice(6, 40))
  }
})

test.skipIf(!isRoot)('reads on a full disk (as root, who may mount)', async ({ skip }) => {
  const { holder } = await given()
  const place = temporaryDirectory()
  if (!mountDisk(place, '4m')) skip('no disk may be mounted here')
  onTestFinished(() => unmountDisk(place))
  const at = { HOME: place }
  expect((await holder.call(['cat', 'notes/a.md'], at)).stdout).toBe('first')
  fillDisk(join(place, 'filler'))
  expect((await holder.call(['write', 'c.md', '--text', 'c'], at)).exitCode).toBe(9)
  const { stdout, exitCode } = await holder.call(['cat', 'notes/a.md'], at)
  expect([stdout, exitCode]).toEqual(['first', 0])
})

describe('programs that run on', () => {
  test('a tool ends at SIGTERM while a remote does not answer to the first fetch', async () => {
    const { holder, remote } = await given()
    let asked: () => void = () => undefined
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const server = await startGitServer({ repository: remote, fault: on(fetching, () => asked()) })
    holder.variables['GITLOCKET_REMOTE'] = server.url
    const child = holder.start(['tool', '--stream'])
    const done = ended(child)
    await isAsked
    child.kill('SIGTERM')
    expect((await done).exitCode).toBe(130)
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'a tool sends before it ends at %s',
    async (signal) => {
      const { holder, remote } = await given()
      const before = headOf(remote)
      const child = holder.start(['tool', '--stream'])
      const done = ended(child)
      const input = { command: 'create', path: '/memories/of-agent.md', file_text: 'kept' }
      child.stdin?.write(`${JSON.stringify(input)}\n`)
      await firstLine(child)
      child.kill(signal)
      expect((await done).exitCode).toBe(0)
      expect(headOf(remote)).not.toBe(before)
    },
  )

  test('the hooks of a session begin, and sync at its end', async () => {
    const input = JSON.stringify({ session_id: 's1' })
    const { granter, holder } = await given()
    const begun = await holder.run(['hook', 'session-start'], { input })
    expect([begun.exitCode, begun.stderr]).toEqual([0, ''])
    await granter.ok('create', 'later.md', '--text', 'later')
    await granter.ok('sync')
    const done = await holder.run(['hook', 'session-end'], { input })
    expect([done.exitCode, done.stderr]).toEqual([0, ''])
    expect(await holder.ok('cat', 'later.md')).toBe('later')
  })

  test('a program that closes the default store has sent', async () => {
    const { holder, remote } = await given()
    const before = headOf(remote)
    const store = await openDefaultStore({
      PATH: process.env['PATH'],
      HOME: holder.directory,
      ...holder.variables,
    })
    await store
      .as({ actor: { type: 'session', id: 's' } })
      .apply([{ type: 'create', path: '/by-program.md', content: 'x' }])
    await store.close()
    expect(headOf(remote)).not.toBe(before)
  })
})
