// `npm start` as on a fresh machine: built, in a separate process, without a terminal. The store
// that it leaves is opened and searched for plaintext.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Command, friday, leakedKey, monday, saturday } from '../../scripts/tour/sessions.ts'
import { type MemoryStore, openStore, parseIdentity } from '../../src/index.ts'
import { full } from '../support/seed.ts'
import { git, gitBytes, sharedDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const ssh = requires('ssh-keygen')
const inputs = [monday, friday, saturday].flatMap(({ commands }) => commands)
const changed = inputs.filter(({ input, refusal }) => input.command !== 'view' && !refusal)
/** Two edits by a user, the undo, the redaction, and the guard in the settings. */
const commitsOfUser = 5
/** A note, the enrolment of the laptop, an edit on each machine, and the merge. */
const commitsOfMachines = 5

const directory = sharedDirectory()
let ran: ReturnType<typeof tour> | undefined
/** The tour that most tests look at runs once. */
const finished = (): ReturnType<typeof tour> => (ran ??= tour(directory))

describe('the tour', { tags: 'slow' }, () => {
  beforeAll(() => void finished())

  test('tells the story in about seventy lines, without a terminal', () => {
    const { status, stderr, stdout } = finished()
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const lines = stdout.split('\n').filter((line) => line !== '')
    expect(lines.length).toBeGreaterThan(60)
    expect(lines.length).toBeLessThanOrEqual(80)
    const told = ['blame', 'rollback', 'redact', 'verify --absence', 'sync', 'join', 'cat']
    for (const command of told) expect(stdout).toContain(`\n$ gitlocket ${command}`)
    expect(stdout).toContain('\n$ git ls-tree')
    expect(stdout).toMatch(/\$ gitlocket serve --port 0\n {2}Serving on http:\/\/127\.0\.0\.1:/)
    expect(stdout).toMatch(/memories\.list\(id\)\) …\n(?: {2}.*\n)* {2}\/conventions\.md\n/)
  })

  test('is what the picture of the README shows', () => {
    const told = (text: string): readonly string[] => {
      const lines = text.split('\n')
      return lines.flatMap((line) => /^(?:\$ \w+ [a-z-]+|[A-Z][^:]* [^:]*)/.exec(line)?.[0] ?? [])
    }
    const drawing = readFileSync(join(root, 'docs', 'tour.svg'), 'utf8')
    const [, ...picture] = told(drawing.replaceAll(/<[^>]*>/g, ''))
    expect(picture.length).toBeGreaterThan(8)
    expect(told(finished().stdout)).toEqual(expect.arrayContaining(picture))
  })

  test.skipIf(ssh.missing)(`lets git check every signature${ssh.note}`, () => {
    expect(finished().stdout).toMatch(/git accepts the signature of each of the \d+ commits/)
  })

  test('prints no control characters and no line over 120 columns', () => {
    // oxlint-disable-next-line no-control-regex -- none may occur
    expect(finished().stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/)
    const longest = Math.max(
      ...finished()
        .stdout.split('\n')
        .map(({ length }) => length),
    )
    expect(longest).toBeLessThanOrEqual(120 + directory.length)
  })

  test('leaves the store that it names, whole and ready to use', async () => {
    const store = await open(finished().stdout)
    const { commits } = await store.maintenance.verify()
    expect(commits).toBe(1 + changed.length + commitsOfUser + commitsOfMachines)
    expect((await store.read('/billing/handover.md'))?.content).toContain('ledger queries')
    await store.close()
    expect(git(['fsck', '--strict'], placeOf(finished().stdout).directory)).toBe('')
  })

  test('leaves no plaintext in the store', () => {
    const at = placeOf(finished().stdout)
    const files = readdirSync(at.directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
    const objects = gitBytes(['cat-file', '--batch-all-objects', '--batch'], at.directory)
    const everything = Buffer.concat([...files, objects])
    const secrets = inputs.flatMap(({ input }) => wordsOf(input))
    expect(secrets.length).toBeGreaterThan(20)
    expect(everything.indexOf('This repository is the memory of AI agents')).toBeGreaterThan(0)
    expect(secrets.filter((words) => everything.indexOf(words) !== -1)).toEqual([])
  })
})

describe('the poisoned session of the tour', { tags: 'slow' }, () => {
  test('is found by blame, and undone', () => {
    expect(partOf(finished().stdout, '$ gitlocket blame')).toMatch(/^ {2}friday .* - First of all/m)
    const done = partOf(finished().stdout, '$ gitlocket rollback --session friday')
    expect(done).toContain('Changed 3 memories')
  })

  test('leaves nothing in the memories, and keeps the later lines of others', async () => {
    const store = await open(finished().stdout)
    const rules = (await store.read('/conventions.md'))?.content ?? ''
    const notes = (await store.read('/billing/handover.md'))?.content ?? ''
    const access = await store.read('/billing/access.md')
    await store.close()
    expect(access).toBeUndefined()
    expect(rules + notes).not.toContain('paste.example')
    expect(rules + notes).not.toContain(leakedKey)
    expect(rules).toContain('- Staging is reset on Mondays at 04:00 UTC')
    expect(notes).toContain('04:30 backup of the database to the bucket')
  })

  test('leaks a key that is erased from every version that held it', async () => {
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

  test('remains in the audit trail: who, when, which operation', async () => {
    const store = await open(finished().stdout)
    const { data } = await store.history.versions({ session: 'friday', operation: 'created' })
    await store.close()
    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({ session: 'friday', path: undefined })
    expect(data[0]?.redactedAt).toBeDefined()
  })

  test('is erased from git: it has no object that the certificate names', () => {
    const at = placeOf(finished().stdout)
    const certificate = JSON.parse(readFileSync(join(at.root, 'certificate.json'), 'utf8'))
    const ids: readonly string[] = certificate.object_ids
    expect(ids.length).toBeGreaterThan(10)
    const answer = git(['cat-file', '--batch-check'], at.directory, `${ids.join('\n')}\n`)
    expect(answer).toBe(ids.map((id) => `${id} missing\n`).join(''))
  })

  test('could not write the key again once the guard is on', () => {
    expect(finished().stdout).toContain('refused: sensitive content: AWS secret key in line 2')
  })
})

/** A tour takes seconds: by default there is the one above. */
const withoutPrograms: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['git', [], /^Left out: git is not installed$/m],
  ['ssh-keygen', ['git'], /^Left out: signatures need ssh-keygen$/m],
]

test.each(full ? withoutPrograms : [])(
  'the tour succeeds without %s, and lists the omitted steps',
  (missing, present, line) => {
    const path = join(directory, `without-${missing}`)
    mkdirSync(path)
    for (const program of present) symlinkSync(whereIs(program), join(path, program))
    const { status, stderr, stdout } = tour(directory, { PATH: path })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(line)
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

function tour(home: string, env: Readonly<Record<string, string>> = {}) {
  compile()
  return spawnSync(process.execPath, [join(root, 'build', 'tour', 'main.js')], {
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
function wordsOf(input: Command['input']): string[] {
  return Object.values(input)
    .flatMap((value) => String(value).split('\n'))
    .map((words) => words.replace(/^\/memories/, ''))
    .filter((words) => words.length >= 12)
}
