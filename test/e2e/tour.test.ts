// `npm start` as it runs on a fresh machine: built, in a process of its own, without a terminal.
// What it leaves behind is opened and searched for plaintext.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { sessions } from '../../scripts/tour/transcript.ts'
import type { Input } from '../../scripts/tour/transcript/call.ts'
import { openStore, parseIdentity } from '../../src/index.ts'
import { git, gitBytes, sharedDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const ssh = requires('ssh-keygen')
const calls = sessions.flatMap((session) => session.calls)

beforeAll(() => {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  spawnSync(process.execPath, [tsc, '-p', join(root, 'scripts')])
})

describe('the transcript of the tour', () => {
  test('holds about sixty inputs of three sessions', () => {
    expect(sessions).toHaveLength(3)
    expect(calls.length).toBeGreaterThanOrEqual(55)
    expect(calls.length).toBeLessThanOrEqual(70)
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
    ])
  })

  test.each(sessions)('looks at its memory first in session $id', ({ calls: [first] }) => {
    expect(first?.input).toEqual({ command: 'view', path: '/memories' })
  })
})

describe('the tour', () => {
  const directory = sharedDirectory()
  let finished: ReturnType<typeof tour>

  beforeAll(() => {
    finished = tour(directory)
  })

  test('ends well without a terminal, and says nothing on standard error', () => {
    expect(finished.stderr).toBe('')
    expect(finished.status).toBe(0)
  })

  test('shows every command, and a commit for each one that changed something', () => {
    const lines = finished.stdout.split('\n')
    const shown = lines.filter((line) => /^ {2}(?:view|create|str_|insert|delete|ren)/.test(line))
    expect(shown).toHaveLength(calls.length)
    const commits = lines.filter((line) =>
      /^ {4}commit [0-9a-f]{40}(?:, \d+ versions)?$/.test(line),
    )
    expect(commits).toHaveLength(calls.filter((call) => call.outcome === 'commits').length)
  })

  test('shows the history, its verification, and the repository as a host has it', () => {
    for (const command of ['log', 'diff', 'verify']) {
      expect(finished.stdout).toContain(`\n$ gitlocket ${command}`)
    }
    for (const command of ['ls-tree', 'cat-file', 'fsck --strict\n  (no output']) {
      expect(finished.stdout).toContain(`\n$ git ${command}`)
    }
  })

  test.skipIf(ssh.missing)(`lets git check every signature${ssh.note}`, () => {
    expect(finished.stdout).toMatch(/\n\$ git .* log --show-signature -1 main\n/)
    expect(finished.stdout).toContain('Good "git" signature')
    expect(finished.stdout).toMatch(/git accepts the signature of each of the \d+ commits/)
  })

  test('prints no control characters and no line over 120 columns', () => {
    // oxlint-disable-next-line no-control-regex -- that there are none is the point
    expect(finished.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/)
    const longest = Math.max(...finished.stdout.split('\n').map((line) => line.length))
    expect(longest).toBeLessThanOrEqual(120 + directory.length)
  })

  test('leaves the store that it names, whole and ready to use', async () => {
    const at = placeOf(finished.stdout)
    const identity = parseIdentity(readFileSync(at.identityFile, 'utf8'))
    const store = await openStore({ ...at, identity })
    const { commits } = await store.verify()
    expect(commits).toBe(1 + calls.filter((call) => call.outcome === 'commits').length)
    expect((await store.read('/done/billing/handover.md'))?.content).toContain('by ascending id')
    await store.close()
    expect(git(['fsck', '--strict'], at.directory)).toBe('')
  })

  test('leaves no plaintext in the store', () => {
    const at = placeOf(finished.stdout)
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

describe('where programs are missing', () => {
  const directory = sharedDirectory()

  test.each([
    ['git', [], 'Left out: git is not installed'],
    [
      'ssh-keygen',
      ['git'],
      'Left out: `git log --show-signature` needs ssh-keygen, which is not installed',
    ],
  ])('the tour ends well without %s, and says what it left out', (missing, present, line) => {
    const path = join(directory, `without-${missing}`)
    mkdirSync(path)
    for (const program of present) symlinkSync(whereIs(program), join(path, program))
    const { status, stderr, stdout } = tour(directory, { PATH: path })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout.match(/^Left out: .*$/gm)).toEqual([line])
    expect(stdout).toContain('\n$ gitlocket verify\n')
    expect(stdout).toContain('export GITLOCKET_STORE=')
  })
})

test('the tour ends above 0 with one line where it cannot work', () => {
  const { status, stderr } = tour('/nonexistent')
  expect(status).toBe(1)
  expect(stderr).toMatch(/^\nThe tour stopped: [^\n]+\n$/)
})

function tour(directory: string, env: Readonly<Record<string, string>> = {}) {
  return spawnSync(process.execPath, [join(root, 'build', 'tour', 'main.js')], {
    encoding: 'utf8',
    input: '',
    env: { PATH: process.env['PATH'], HOME: directory, TMPDIR: directory, ...env },
  })
}

function whereIs(program: string): string {
  const words = ['-c', 'command -v "$1"', 'sh', program]
  return spawnSync('/bin/sh', words, { encoding: 'utf8' }).stdout.trim()
}

interface Place {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
}

/** From the variables that the tour tells the reader to set. */
function placeOf(output: string): Place {
  const variable = (name: string): string =>
    new RegExp(`export ${name}=(.+)`).exec(output)?.[1] ?? ''
  return {
    directory: variable('GITLOCKET_STORE'),
    stateDirectory: variable('GITLOCKET_STATE_DIRECTORY'),
    identityFile: variable('GITLOCKET_IDENTITY_FILE'),
  }
}

/** Every line and path of an input that is long enough to be no coincidence. */
function wordsOf(input: Input): string[] {
  return [input.path, input.file_text, input.insert_text, input.new_str, input.new_path]
    .flatMap((value) => value?.split('\n') ?? [])
    .map((words) => words.replace(/^\/memories/, ''))
    .filter((words) => words.length >= 8)
}
