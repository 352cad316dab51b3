// `edit`: the plaintext is in RAM, readable by its user alone, and removed however the editor ends.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ownerOf } from '../../src/disk/process-owner.ts'
import { clientOf } from '../support/console.ts'
import { sample } from '../support/seed.ts'
import { onDisk } from '../support/temporary-root.ts'
import { type Ended, ended, type Home, mainFile, newHomeWithStore } from './cli-process.ts'

const shm = '/dev/shm'
const noRam = !existsSync(shm)
const note = noRam ? ' (skipped: install a tmpfs at /dev/shm)' : ''

/** With a directory in RAM of its own, which other tests on this machine leave alone. */
async function homeWithMemory(): Promise<Home> {
  const home = await newHomeWithStore()
  const runtime = mkdtempSync(join(shm, 'gitlocket-test-'))
  onTestFinished(() => rmSync(runtime, { recursive: true, force: true }))
  home.variables['XDG_RUNTIME_DIR'] = runtime
  await home.ok('create', 'notes.md', '--text', 'one\ntwo\nthree\n')
  return home
}

function edit(home: Home, script: string, ...args: string[]): Promise<Ended> {
  const editor = home.file('editor', `#!/bin/sh\n${script}\n`)
  return home.run(['edit', 'notes.md', ...args], { env: { EDITOR: `sh ${editor}` } })
}

/** The answer to a page of `gitlocket console` that searches for erased texts. */
async function proofOfConsole(home: Home): Promise<unknown> {
  const child = home.start(['console', '--no-open', '--json'])
  const end = ended(child)
  const line = await new Promise<string>((resolve) => {
    child.stdout?.once('data', (bytes: Buffer) => resolve(bytes.toString()))
  })
  const { url, address } = JSON.parse(line)
  const { keyOf, ask } = clientOf(url)
  const { result } = await ask(await keyOf(address), 'redaction.proof', {})
  child.kill('SIGTERM')
  await end
  return result
}

function leftovers(home: Home): string[] {
  return readdirSync(String(home.environment()['XDG_RUNTIME_DIR']))
}

describe.skipIf(noRam)(`edit${note}`, () => {
  test('the text that the editor saves becomes one change', { tags: 'slow' }, async () => {
    const home = await homeWithMemory()
    const script = `stat -c '%a %a' "$1" "$(dirname "$1")" > seen; echo "$1" >> seen
      sed -i s/two/zwei/ "$1"`
    const result = await edit(home, script, '--reason', 'German')
    expect(result).toEqual({ stdout: 'Edited /notes.md\n', stderr: '', exitCode: 0 })
    expect(await home.ok('cat', 'notes.md')).toBe('one\nzwei\nthree\n')
    const [fileMode, directoryMode, path] = readFileSync(join(home.directory, 'seen'), 'utf8')
      .trim()
      .split('\n')
    expect([fileMode, directoryMode]).toEqual(['600 600', '700 700'])
    expect(path).toMatch(/^\/dev\/shm\/gitlocket-test-\w+\/gitlocket-edit-\w+\/memory\.md$/)
    expect(existsSync(path ?? '')).toBe(false)
    expect((await home.json('log', '--limit', '1'))['data']).toMatchObject([
      { operation: 'modified', reason: 'German' },
    ])
  })

  test.each(
    sample<[name: string, script: string, exitCode: number, sentence: RegExp]>(
      [
        ['changes nothing', ':', 0, /^$/],
        ['fails', 'echo x >> "$1"; exit 3', 2, /ended with status 3; nothing was changed/],
        ['is killed', 'kill -9 $$', 2, /nothing was changed/],
        ['saves bytes that are not text', `printf '\\377' > "$1"`, 2, /must be UTF-8 text/],
        ['removes the file', 'rm "$1"', 2, /it does not exist/],
        ['saves too much', 'head -c 102401 /dev/zero | tr "\\0" a > "$1"', 5, /nothing was saved/],
      ],
      2,
    ),
  )(
    'an editor that %s changes nothing',
    { tags: 'slow' },
    async (_, script, exitCode, sentence) => {
      const home = await homeWithMemory()
      const before = (await home.json('status'))['head']
      const result = await edit(home, script)
      expect(result.exitCode).toBe(exitCode)
      expect(result.stderr).toMatch(sentence)
      expect((await home.json('status'))['head']).toBe(before)
      expect(leftovers(home)).toEqual([])
    },
  )

  test('an edit concurrent with another one is merged by lines', { tags: 'slow' }, async () => {
    const home = await homeWithMemory()
    const other = `${process.execPath} ${mainFile} str-replace notes.md --old one --new 1`
    await home.ok('insert', 'notes.md', '--line', '1', '--text', 'a\nb\nc\nd')
    const result = await edit(home, `${other}; sed -i s/three/3/ "$1"`)
    expect(result.exitCode).toBe(0)
    expect(await home.ok('cat', 'notes.md')).toBe('1\na\nb\nc\nd\ntwo\n3\n')
  })

  test('edits with one line between them are merged, too', { tags: 'slow' }, async () => {
    const home = await homeWithMemory()
    const other = `${process.execPath} ${mainFile} str-replace notes.md --old one --new 1 >&2`
    const result = await edit(home, `${other}; sed -i s/three/3/ "$1"`)
    expect(result).toMatchObject({ exitCode: 0, stdout: 'Edited /notes.md\n' })
    expect(result.stderr).toContain('Merged with concurrent edits')
    expect(await home.ok('cat', 'notes.md')).toBe('1\ntwo\n3\n')
  })

  test(
    'an edit of the same lines saves nothing, and its text is not lost',
    { tags: 'slow' },
    async () => {
      const home = await homeWithMemory()
      const other = `${process.execPath} ${mainFile} str-replace notes.md --old two --new 2 >&2`
      const result = await edit(home, `${other}; sed -i s/two/zwei/ "$1"`)
      expect(result).toMatchObject({ exitCode: 4, stdout: 'one\nzwei\nthree\n' })
      expect(result.stderr).toMatch(/changed in the meantime; nothing was saved/)
      expect(await home.ok('cat', 'notes.md')).toBe('one\n2\nthree\n')
    },
  )

  test.each(sample(['SIGTERM', 'SIGHUP'] as const, 2))(
    '%s removes the file',
    { tags: 'slow' },
    async (signal) => {
      const home = await homeWithMemory()
      const editor = home.file('editor', '#!/bin/sh\necho "$1" > started; exec sleep 60\n')
      const child = home.start(['edit', 'notes.md'], { EDITOR: `exec sh ${editor}` })
      const end = ended(child)
      await until(() => existsSync(join(home.directory, 'started')))
      await until(() => readFileSync(join(home.directory, 'started'), 'utf8') !== '')
      child.kill(signal)
      expect((await end).exitCode).toBe(signal === 'SIGTERM' ? 143 : 129)
      const path = readFileSync(join(home.directory, 'started'), 'utf8').trim()
      expect(existsSync(path)).toBe(false)
      await home.ok('verify')
    },
  )

  test('XDG_RUNTIME_DIR is used if it is in RAM, and only then', { tags: 'slow' }, async () => {
    const home = await homeWithMemory()
    const editor = home.file('editor', 'echo "$1" > seen\n')
    const place = async (directory: string): Promise<string> => {
      const env = { EDITOR: `sh ${editor}`, XDG_RUNTIME_DIR: directory }
      expect((await home.run(['edit', 'notes.md'], { env })).exitCode).toBe(0)
      return readFileSync(join(home.directory, 'seen'), 'utf8')
    }
    const inRam = mkdtempSync(join(shm, 'gitlocket-test-'))
    try {
      expect(await place(inRam)).toMatch(inRam)
    } finally {
      rmdirSync(inRam)
    }
    const elsewhere = mkdtempSync(join(onDisk(), 'gitlocket-test-'))
    try {
      expect(await place(elsewhere)).toMatch(/^\/dev\/shm\/gitlocket-edit-/)
    } finally {
      rmdirSync(elsewhere)
    }
  })
})

describe.skipIf(noRam)(`the files of a killed edit${note}`, () => {
  test(
    'fail a proof of absence until its editor has ended and another edit runs',
    { tags: 'slow' },
    async () => {
      const home = await homeWithMemory()
      const script = 'cp "${1%/*}/used-by" users; echo "$1 $$" > started'
      const editor = home.file('editor', `#!/bin/sh\n${script}; exec sleep 600\n`)
      const child = home.start(['edit', 'notes.md'], { EDITOR: `exec sh ${editor}` })
      const end = ended(child)
      const started = join(home.directory, 'started')
      await until(() => existsSync(started) && readFileSync(started, 'utf8').endsWith('\n'))
      const [path = '', sleeper] = readFileSync(started, 'utf8').trim().split(' ')
      const directory = dirname(path)
      expect(readFileSync(join(home.directory, 'users'), 'utf8')).toContain(`"pid":${sleeper},`)
      onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
      child.kill('SIGKILL')
      child.stdout?.destroy()
      child.stderr?.destroy()
      await end
      expect(readFileSync(path, 'utf8')).toBe('one\ntwo\nthree\n')
      expect((await edit(home, ':')).exitCode).toBe(0)
      expect(existsSync(path)).toBe(true)
      process.kill(Number(sleeper), 'SIGKILL')
      await until(() => ownerOf(Number(sleeper)).startTime === '')
      const words = ['redact', '--memory', 'notes.md', '--delete', '--yes', '--prove']
      const proof = await home.call(words)
      expect(proof).toMatchObject({ exitCode: 11, stdout: expect.stringContaining(directory) })
      expect(proof.stdout).not.toMatch(/nothing is left$/m)
      const { stdout, exitCode } = await home.call(['verify', '--absence', '--json'])
      expect(exitCode).toBe(11)
      expect(JSON.parse(stdout)).toMatchObject({ absence: { left_by_edit: [directory] } })
      expect(await proofOfConsole(home)).toMatchObject({ found: [], textsOutside: [directory] })
      const report = await home.call(['report', '--format', 'json'])
      expect(JSON.parse(report.stdout)).toMatchObject({
        absence: { texts_outside: 1 },
        redactions: [{ absence: 'may_be_repeated' }],
      })
      expect([report.stdout, report.stderr]).toEqual([
        expect.not.stringContaining(directory),
        expect.stringContaining('verify --absence'),
      ])
      await home.ok('create', 'other.md', '--text', 'other\n')
      expect((await home.run(['edit', 'other.md'], { env: { EDITOR: 'true' } })).exitCode).toBe(0)
      expect(existsSync(directory)).toBe(false)
      expect(await home.ok('verify', '--absence')).toMatch(/nothing is left$/m)
    },
  )

  test('is removed if it is ours and its processes have ended', { tags: 'slow' }, async () => {
    const home = await homeWithMemory()
    const parent = mkdtempSync(join(shm, 'gitlocket-test-'))
    onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
    const here = ownerOf(process.pid)
    const left = (name: string, ...users: readonly unknown[]): string => {
      const directory = join(parent, `gitlocket-edit-${name}`)
      mkdirSync(directory, { mode: 0o700 })
      writeFileSync(join(directory, 'memory.md'), 'text')
      const lines = users.map((user) => `${JSON.stringify(user)}\n`).join('')
      writeFileSync(join(directory, 'used-by'), lines)
      return directory
    }
    const ofOther = { ...here, startTime: '1' }
    const kept = [
      left('living', 'memstore_x', here),
      left('editor', 'memstore_x', ofOther, here),
      left('container', 'memstore_x', { ...ofOther, namespace: 'pid:[1]' }),
      left('unknown'),
      left('open', 'memstore_x', ofOther),
    ]
    chmodSync(join(parent, 'gitlocket-edit-open'), 0o755)
    const dead = left('dead', 'memstore_x', ofOther)
    // Another edit makes it just now, and has no text in it yet.
    mkdirSync(join(parent, 'gitlocket-edit-begun'), { mode: 0o700 })
    writeFileSync(join(parent, 'gitlocket-edit-begun/used-by'), '')
    const target = home.file('victim/used-by', `"memstore_x"\n${JSON.stringify(ofOther)}\n`)
    symlinkSync(dirname(target), join(parent, 'gitlocket-edit-link'))
    symlinkSync(home.directory, join(dead, 'link'))
    const env = { EDITOR: 'true', XDG_RUNTIME_DIR: parent }
    expect((await home.run(['edit', 'notes.md'], { env })).exitCode).toBe(0)
    expect(kept.map((directory) => existsSync(join(directory, 'memory.md')))).toEqual(
      kept.map(() => true),
    )
    expect([existsSync(dead), existsSync(target)]).toEqual([false, true])
    const { exitCode, stdout } = await home.call(['verify', '--absence', '--json'], env)
    expect(exitCode).toBe(11)
    const unknown = join(parent, 'gitlocket-edit-unknown')
    expect(JSON.parse(stdout)).toMatchObject({ absence: { left_by_edit: [unknown] } })
  })
})

function until(condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const poll = setInterval(() => {
      if (!condition()) return
      clearInterval(poll)
      resolve()
    }, 10)
  })
}
