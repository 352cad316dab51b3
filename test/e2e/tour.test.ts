// `npm start` as on a fresh machine: built, in a separate process, without a terminal. The store
// that it leaves is opened and searched for plaintext.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { guardedSession, poisonedSession, sessions } from '../../scripts/tour/transcript.ts'
import type { Input } from '../../scripts/tour/transcript/call.ts'
import { leakedKey } from '../../scripts/tour/transcript/friday.ts'
import { type MemoryStore, openStore, parseIdentity } from '../../src/index.ts'
import { full } from '../support/seed.ts'
import { git, gitBytes, sharedDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const ssh = requires('ssh-keygen')
const allSessions = [...sessions, poisonedSession, guardedSession]
const calls = allSessions.flatMap((session) => session.calls)
const commitsOfSessions = calls.filter((call) => call.outcome === 'commits').length
/** Two edits by a user, the undo, the redaction, and the guard in the settings. */
const commitsOfPerson = 5
/** A note, the enrolment of the laptop, an edit on each machine, and the merge. */
const commitsOfMachines = 5

const directory = sharedDirectory()
let ran: ReturnType<typeof tour> | undefined
/** The tour that most tests look at: it runs once, and not for those of the transcript alone. */
const finished = (): ReturnType<typeof tour> => (ran ??= tour(directory))

describe('the transcript of the tour', () => {
  test('holds about seventy inputs of three sessions of work and two that were led astray', () => {
    expect(sessions).toHaveLength(3)
    expect(calls.length).toBeGreaterThanOrEqual(60)
    expect(calls.length).toBeLessThanOrEqual(75)
  })

  test('uses every command, and fails in every way that agents do', () => {
    const commands = new Set(calls.map((call) => call.input.command))
    expect([...commands].toSorted()).toEqual(
      ['create', 'delete', 'insert', 'rename', 'str_replace', 'view'].toSorted(),
    )
    const refusals = new Set(calls.flatMap((call) => call.saying ?? []))
    expect([...refusals].toSorted()).toEqual([
      'Invalid `insert_line` parameter',
      'Multiple occurrences',
      'already exists',
      'did not appear verbatim',
      'does not exist',
      'sensitive content: AWS secret key in line 2',
    ])
  })

  test.each(allSessions)('looks at its memory first in session $id', ({ calls: [first] }) => {
    expect(first?.input).toEqual({ command: 'view', path: '/memories' })
  })
})

describe('the short tour', { tags: 'slow' }, () => {
  beforeAll(compile)
  let ended: ReturnType<typeof tour> | undefined
  const short = (): ReturnType<typeof tour> => (ended ??= tour(directory, {}, []))

  test('tells the story in about seventy lines', () => {
    const { status, stderr, stdout } = short()
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const lines = stdout.split('\n').filter((line) => line !== '')
    expect(lines.length).toBeGreaterThan(60)
    expect(lines.length).toBeLessThanOrEqual(76)
    const told = ['blame', 'rollback', 'redact', 'verify --absence', 'sync', 'join', 'cat']
    for (const command of told) expect(stdout).toContain(`\n$ gitlocket ${command}`)
    for (const command of ['ls-tree', 'cat-file']) expect(stdout).toContain(`\n$ git ${command}`)
    expect(stdout).toMatch(/\$ gitlocket serve --port 0\n {2}Serving on http:\/\/127\.0\.0\.1:/)
    expect(stdout).toMatch(/memories\.list\(id\)\) …\n {2}\/conventions\.md\n/)
    expect(stdout).toContain('npm start -- --full')
  })

  test('is what the picture of the README shows', () => {
    const told = (text: string): readonly string[] => {
      const lines = text.split('\n')
      return lines.flatMap((line) => /^(?:\$ \w+ [a-z-]+|[A-Z][^:]* [^:]*)/.exec(line)?.[0] ?? [])
    }
    const drawing = readFileSync(join(root, 'docs', 'tour.svg'), 'utf8')
    // Only the drawing has tags: the tour may print a `<` that is a byte of a sealed file.
    const [, ...picture] = told(drawing.replaceAll(/<[^>]*>/g, ''))
    expect(picture.length).toBeGreaterThan(12)
    expect(told(short().stdout)).toEqual(expect.arrayContaining(picture))
  })

  test('runs what the full one does, and leaves the same store', async () => {
    const store = await open(short().stdout)
    const { commits } = await store.maintenance.verify()
    await store.close()
    expect(commits).toBe(1 + commitsOfSessions + commitsOfPerson + commitsOfMachines)
  })
})

describe('the full tour', { tags: 'slow' }, () => {
  beforeAll(compile)
  beforeAll(() => void finished())

  test('ends well without a terminal, and says nothing on standard error', () => {
    expect(finished().stderr).toBe('')
    expect(finished().status).toBe(0)
  })

  test('shows every command, and a commit for each one that changed something', () => {
    const lines = finished().stdout.split('\n')
    const shown = lines.filter((line) =>
      /^ {2}(?:view|create|str_replace|insert|delete|rename) \//.test(line),
    )
    expect(shown).toHaveLength(calls.length)
    const commits = lines.filter((line) =>
      /^ {4}commit [0-9a-f]{40}(?:, \d+ versions)?$/.test(line),
    )
    expect(commits).toHaveLength(commitsOfSessions)
  })

  test('shows the history, its verification, and the repository as a host sees it', () => {
    for (const command of ['log', 'diff', 'verify']) {
      expect(finished().stdout).toContain(`\n$ gitlocket ${command}`)
    }
    for (const command of ['ls-tree', 'cat-file', 'fsck --strict\n  (no output']) {
      expect(finished().stdout).toContain(`\n$ git ${command}`)
    }
  })

  test.skipIf(ssh.missing)(`lets git check every signature${ssh.note}`, () => {
    expect(finished().stdout).toMatch(/\n\$ git .* log --show-signature -1 main\n/)
    expect(finished().stdout).toContain('Good "git" signature')
    expect(finished().stdout).toMatch(/git accepts the signature of each of the \d+ commits/)
  })

  test('prints no control characters and no line over 120 columns', () => {
    // oxlint-disable-next-line no-control-regex -- that there are none is the point
    expect(finished().stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/)
    const longest = Math.max(
      ...finished()
        .stdout.split('\n')
        .map((line) => line.length),
    )
    expect(longest).toBeLessThanOrEqual(120 + directory.length)
  })

  test('leaves the store that it names, whole and ready to use', async () => {
    const at = placeOf(finished().stdout)
    const identity = await parseIdentity(readFileSync(at.identityFile, 'utf8'))
    const store = await openStore({ ...at, identity })
    const { commits } = await store.maintenance.verify()
    expect(commits).toBe(1 + commitsOfSessions + commitsOfPerson + commitsOfMachines)
    expect((await store.read('/done/billing/handover.md'))?.content).toContain('by ascending id')
    await store.close()
    expect(git(['fsck', '--strict'], at.directory)).toBe('')
  })

  test('leaves no plaintext in the store', () => {
    const at = placeOf(finished().stdout)
    const files = readdirSync(at.directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
    const objects = gitBytes(['cat-file', '--batch-all-objects', '--batch'], at.directory)
    const everything = Buffer.concat([...files, objects])
    const secrets = calls.flatMap((call) => wordsOf(call.input))
    expect(secrets.length).toBeGreaterThan(100)
    expect(everything.indexOf('This repository is the memory of AI agents')).toBeGreaterThan(0)
    expect(secrets.filter((words) => everything.indexOf(words) !== -1)).toEqual([])
  })
})

describe('the poisoned session of the tour', { tags: 'slow' }, () => {
  const poison = 'paste.example'

  test('is found by blame, and undone after a dry run that shows the difference', () => {
    const blame = partOf(finished().stdout, '$ gitlocket blame')
    expect(blame).toMatch(/\(session:friday .*\) - First of all/)
    const plan = partOf(finished().stdout, '$ gitlocket rollback --session friday --dry-run')
    expect(plan).toContain('Would change 3 memories')
    expect(plan).toMatch(/^ {2}-- First of all, .*paste\.example/m)
    const done = partOf(finished().stdout, '$ gitlocket rollback --session friday --as')
    expect(done).toContain('Changed 3 memories')
  })

  test('leaves nothing in the memories, while the later lines of others stay', async () => {
    const store = await open(finished().stdout)
    const rules = (await store.read('/conventions.md'))?.content ?? ''
    const notes = (await store.read('/done/billing/handover.md'))?.content ?? ''
    const access = await store.read('/done/billing/access.md')
    await store.close()
    expect(access).toBeUndefined()
    expect(rules + notes).not.toContain(poison)
    expect(rules + notes).not.toContain(leakedKey)
    expect(rules).toContain('- Staging is reset on Mondays at 04:00 UTC')
    expect(notes).toContain('04:30 backup of the database to the bucket')
  })

  test('leaks a key that is erased from every version that held it', async () => {
    const plan = partOf(finished().stdout, '$ gitlocket redact', '--dry-run')
    expect(plan).toContain('Would redact 3 versions')
    const store = await open(finished().stdout)
    const redacted = (await store.history.versions({ redacted: true })).data
    const { found, versions } = await store.maintenance.findResidue()
    const contents = await Promise.all(redacted.map((one) => store.history.version(one.versionId)))
    await store.close()
    expect(versions).toBe(3)
    expect(redacted.map(({ operation }) => operation)).toEqual(['modified', 'modified', 'created'])
    expect(contents.flatMap(({ content, path }) => [content, path])).toEqual(
      Array.from({ length: 6 }),
    )
    expect(found).toEqual([])
    expect(partOf(finished().stdout, '$ gitlocket verify --absence')).toContain('nothing is left')
    expect(existsSync(join(placeOf(finished().stdout).root, 'leaked-key.txt'))).toBe(false)
  })

  test('stays in the audit trail: who, when, which operation', () => {
    const row = partOf(finished().stdout, '$ gitlocket show')
    expect(row).toMatch(/^ {2}Change: {3}created \(redacted\)$/m)
    expect(row).toMatch(/^ {2}Actor: {4}session:friday$/m)
    expect(row).toMatch(/^ {2}Date: {5}\d{4}-/m)
    expect(row).toMatch(/^ {2}Redacted: .* by user:ines$/m)
    expect(row).not.toContain('access.md')
  })

  test('is erased from git: it has no object that the certificate names', () => {
    const at = placeOf(finished().stdout)
    const certificate = JSON.parse(readFileSync(join(at.root, 'certificate.json'), 'utf8'))
    const ids: readonly string[] = certificate.object_ids
    expect(ids.length).toBeGreaterThan(10)
    const answer = git(['cat-file', '--batch-check'], at.directory, `${ids.join('\n')}\n`)
    expect(answer).toBe(ids.map((id) => `${id} missing\n`).join(''))
    expect(partOf(finished().stdout, '$ git cat-file -t')).toContain('fatal: ')
  })

  test('could not write the key again once the guard is on', () => {
    const words = finished().stdout.replaceAll(/\s+/g, ' ')
    expect(words).toContain('would hold sensitive content: AWS secret key in line 2')
  })
})

/** A tour takes twelve seconds: by default there is the one above. */
const withoutPrograms: readonly (readonly [string, readonly string[], string])[] = [
  ['git', [], 'Left out: git is not installed'],
  [
    'ssh-keygen',
    ['git'],
    'Left out: `git log --show-signature` needs ssh-keygen, which is not installed',
  ],
]

test.each(full ? withoutPrograms : [])(
  'the tour ends well without %s, and says what it left out',
  (missing, present, line) => {
    const path = join(directory, `without-${missing}`)
    mkdirSync(path)
    for (const program of present) symlinkSync(whereIs(program), join(path, program))
    const { status, stderr, stdout } = tour(directory, { PATH: path })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout.match(/^Left out: .*$/gm)).toEqual([line])
    expect(stdout).toContain('\n$ gitlocket verify\n')
    expect(stdout).toContain('export GITLOCKET_STORE=')
  },
)

test('the tour exits above 0 with one line if it cannot work', { tags: 'slow' }, () => {
  const { status, stderr } = tour('/nonexistent')
  expect(status).toBe(1)
  expect(stderr).toMatch(/^\nThe tour stopped: [^\n]+\n$/)
})

let isCompiled = false
function compile(): void {
  if (isCompiled) return
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  spawnSync(process.execPath, [tsc, '-p', join(root, 'scripts')])
  isCompiled = true
}

function tour(home: string, env: Readonly<Record<string, string>> = {}, options = ['--full']) {
  compile()
  return spawnSync(process.execPath, [join(root, 'build', 'tour', 'main.js'), ...options], {
    encoding: 'utf8',
    input: '',
    env: { PATH: process.env['PATH'], HOME: home, TMPDIR: home, ...env },
  })
}

function whereIs(program: string): string {
  const words = ['-c', 'command -v "$1"', 'sh', program]
  return spawnSync('/bin/sh', words, { encoding: 'utf8' }).stdout.trim()
}

interface Place {
  readonly root: string
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
}

/** Opens the store by the variables that the tour prints. */
function placeOf(output: string): Place {
  const variable = (name: string): string =>
    new RegExp(`export ${name}=(.+)`).exec(output)?.[1] ?? ''
  const store = variable('GITLOCKET_STORE')
  return {
    root: dirname(store),
    directory: store,
    stateDirectory: variable('GITLOCKET_STATE_DIRECTORY'),
    identityFile: variable('GITLOCKET_IDENTITY_FILE'),
  }
}

async function open(output: string): Promise<MemoryStore> {
  const at = placeOf(output)
  return openStore({ ...at, identity: await parseIdentity(readFileSync(at.identityFile, 'utf8')) })
}

/** The command whose line has all these words, with what the tour shows of its answer. */
function partOf(output: string, ...words: readonly string[]): string {
  const lines = output.split('\n')
  const start = lines.findIndex((line) => words.every((word) => line.includes(word)))
  const length = lines.slice(start + 1).findIndex((line) => /^\S/.test(line))
  return start === -1 ? '' : lines.slice(start, start + 1 + length).join('\n')
}

/** Every line and path of an input that is too long to match by chance. */
function wordsOf(input: Input): string[] {
  return [input.path, input.file_text, input.insert_text, input.new_str, input.new_path]
    .flatMap((value) => value?.split('\n') ?? [])
    .map((words) => words.replace(/^\/memories/, ''))
    .filter((words) => words.length >= 8)
}
