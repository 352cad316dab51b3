// What the command line refuses: each row ends with the documented exit code, one sentence and a
// hint, on standard error alone, and leaves the store unchanged.

import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { sample } from '../support/seed.ts'
import { git } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import {
  type Ended,
  ended,
  type Home,
  mainFile,
  newHome,
  newHomeWithStore,
  sharedHome,
} from './cli-process.ts'

const anyText = ['--text', 'a']

/** Standard output is empty; standard error has the sentence, and a line with the next step. */
function refusal(exitCode: number, sentence: RegExp): Ended {
  const form = new RegExp(`^(?=[^]*${sentence.source})gitlocket: [^\\n]+\\n[^]*hint: [^\\n]+\\n$`)
  return { exitCode, stdout: '', stderr: expect.stringMatching(form) }
}

const isRoot = process.getuid?.() === 0

/** As a user without privileges, whom file permissions bind. */
function runUnprivileged(home: Home, words: readonly string[]): Promise<Ended> {
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : {}
  const options = { cwd: home.directory, env: home.environment(), ...user }
  return ended(spawn(process.execPath, [mainFile, ...words], options))
}

describe('a mistake in the arguments', () => {
  test.each<[words: string[], sentence: RegExp]>([
    [['lgo'], /did you mean "log"\?/],
    [['key'], /needs a second word: key show, key passwd/],
    [['key', 'shwo'], /did you mean "key show"/],
    [['--bogus'], /There is no option "--bogus"/],
    [['log', '--lmit', '3'], /did you mean "--limit"\?\nhint: `gitlocket log --help`/],
    [['ls', '-x'], /There is no option "-x"/],
    [['cat'], /"cat" needs <path>/],
    [['mv', 'a'], /"mv" needs <new-path>/],
    [['diff', 'a', 'b', 'c'], /quote texts and paths with spaces/],
    [['diff'], /"diff" needs <version>, or --from/],
    [['diff', '--to', '7d'], /--to needs --from/],
    [['diff', 'a', '--stat'], /--stat needs --from/],
    [['diff', 'a', 'b', '--from', '7d'], /takes one path/],
    [['diff', '--from', '7d', '--stat', '--name-only'], /not both/],
    [['log', '--oneline', '-p'], /Give --oneline or --patch, not both/],
    [['log', '--color', 'sometimes'], /auto, always, never/],
    [['log', '--skip', '-1'], /--skip must be an integer/],
    [['restore', '--to', '7d'], /"restore" needs <path-or-memory>/],
    [['rollback'], /rollback needs --to, or --session, --actor or --grant to undo/],
    [['rollback', '--to', '7d', '--session', 's'], /Give --to or --session, not both/],
    [['rollback', '--to', '7d', '--since', '8d'], /Give --to or --since, not both/],
    [['rollback', '--session', 's', '--path', 'a'], /--path needs --to/],
    [['undo', '--session', 's', '--since', 'then'], /must be a duration/],
    [['undo', '--since', '1d'], /--since and --until need --session, --actor or --grant/],
    [['redact'], /redact needs versions, or a condition/],
    [['redact', '--yes', '--prove'], /redact needs versions, or a condition/],
    [['redact', 'a', '--literal'], /--literal needs --matching/],
    [['redact', '--matching', '('], /is not a regular expression/],
    [['redact', '--matching', 'x*'], /matches the empty string/],
    [['redact', '--matching', 'a', '--matching-file', 'b'], /not both/],
    [['redact', '--matching-file', 'nowhere'], /nowhere: it does not exist/],
    [['redact', 'a', '--delete', '--overwrite'], /Give --overwrite or --delete, not both/],
    [['redact', 'a', '--reason-code', 'shame'], /unspecified, leaked_secret/],
    [['expire'], /expire needs --unchanged, --unread or --redact-older/],
    [['expire', '--unchanged', '2026-01-31'], /--unchanged must be a duration/],
    [['expire', '--unread', '0d'], /--unread must be longer than 0/],
    [['verify', '--certificate', 'x'], /--certificate needs --absence/],
    [['settings', '--guard', 'maybe'], /must be one of on, off/],
    [['settings', '--memory-limit', '0'], /--memory-limit must be an integer from 1/],
    [['create', 'a', '--text'], /--text needs a value/],
    [['create', 'a', '--text', '--file'], /write --text=--file if you mean that/],
    [['create', 'a'], /needs --text, --file or -/],
    [['create', 'a', '-', ...anyText], /Give the text once/],
    [['create', 'a', '--file', 'f', ...anyText], /Give --text or --file, not both/],
    [['create', 'a', 'text'], /Give the text with --text or --file/],
    [['str-replace', 'a'], /needs --old/],
    [['str-replace', 'a', '--old', ''], /must not be empty/],
    [['insert', 'a', ...anyText], /needs --line/],
    [['insert', 'a', '--line', 'two', ...anyText], /--line must be an integer/],
    [['insert', 'a', '--line', '-1', ...anyText], /--line must be an integer/],
    [['ls', '--json=1'], /--json takes no value/],
    [['log', '--limit', '0'], /--limit must be an integer from 1/],
    [['log', '--limit', '1e3'], /--limit must be an integer/],
    [['log', '--operation', 'renamed'], /must be one of created, modified, deleted/],
    [['log', '--since', 'tomorrow'], /must be a duration such as 36h/],
    [['log', '--since', '2026-13-01'], /must be a duration/],
    [['view', 'a', '--range', '3:2'], /--range must be two lines/],
    [['import', 'in', '--on-conflict', 'maybe'], /fail, skip, overwrite/],
    [['help', 'nothing'], /There is no command "nothing"/],
  ])('%j exits with 2', async (words, sentence) => {
    expect(await newHome().call(words)).toEqual(refusal(2, sentence))
  })
})

describe('a request that cannot be done', () => {
  const home = sharedHome()
  let head: unknown
  beforeAll(async () => {
    await home.ok('init')
    await home.ok('create', 'a.md', '--text', 'one\none\n')
    await home.ok('create', 'd/b.md', '--text', 'b')
    head = (await home.json('status'))['head']
  })

  test.each<[exitCode: number, words: string[], sentence: RegExp]>([
    [2, ['create', '../x', ...anyText], /no dot segment/],
    [2, ['create', 'a//b', ...anyText], /no empty segment/],
    [2, ['create', 'a\u0007b', ...anyText], /‹U\+0007›b/],
    [2, ['create', '\u0379.md', ...anyText], /unassigned/],
    [2, ['create', 'x'.repeat(1024), ...anyText], /at most 1024 bytes/],
    [2, ['create', 'a/'.repeat(21), ...anyText], /at most 20 segments/],
    [2, ['create', 'x', '--actor', 'a b', ...anyText], /id of the actor/],
    [2, ['create', 'x', '--session', 'ü', ...anyText], /The session/],
    [2, ['create', 'x', '--reason', 'r'.repeat(4097), ...anyText], /at most 4096 bytes/],
    [2, ['create', 'x', '--file', 'nowhere'], /nowhere: it does not exist/],
    [2, ['create', 'x', '--file', '.'], /it is a directory/],
    [2, ['str-replace', 'a.md', '--old', 'two'], /does not occur/],
    [2, ['str-replace', 'a.md', '--old', 'one'], /more than once: \/a.md, in lines 1, 2/],
    [2, ['insert', 'a.md', '--line', '3', ...anyText], /lines 0 to 2/],
    [2, ['rm', '/'], /root directory/],
    [2, ['mv', 'd', 'd/e'], /below its own path/],
    [2, ['show', 'memver_no'], /at least 4 digits/],
    [2, ['import', 'nowhere'], /There is nothing at/],
    [2, ['ls', '--at', 'tomorrow'], /--at must be a time such as/],
    [2, ['ls', '--at', 'memver_z'], /at least 4 digits/],
    [2, ['ls', '--at', 'no!'], /--at must be a time such as/],
    [2, ['settings', '--name', ''], /The name must be text of 1/],
    [2, ['redact', '--session', 'none', '--certificate', 'a/b', '--path', '..'], /no dot segment/],
    [3, ['ls', '--at', '2001-01-01'], /Nothing was written by then/],
    [3, ['ls', '--at', 'memver_zzzz'], /no such version/],
    [3, ['ls', '--at', 'deadbeef'], /no such commit|commit/],
    [3, ['blame', 'nothing'], /No memory was at the path/],
    [3, ['restore', 'nothing', '--to', '0s'], /Nothing is or was at \/nothing/],
    [3, ['redact', '--memory', 'nothing', '--yes'], /no such/i],
    [3, ['redact', 'memver_00000000000000000000000000', '--yes'], /no such version/],
    [3, ['cat', 'nothing'], /no such file or directory: \/nothing/],
    [3, ['cat', 'd'], /This is a directory/],
    [3, ['ls', 'nothing'], /no such file or directory/],
    [3, ['view', 'nothing'], /no such/i],
    [3, ['rm', 'nothing'], /no such/i],
    [3, ['mv', 'nothing', 'x'], /no such/i],
    [3, ['str-replace', 'nothing', '--old', 'a'], /no such/i],
    [3, ['edit', 'nothing'], /no such/i],
    [3, ['show', 'memver_00000000000000000000000000'], /no such version/],
    [3, ['diff', '0000'], /no such version/],
    [3, ['export', 'out', '--from', 'nothing'], /no such/],
    [4, ['create', 'a.md', ...anyText], /already[^]*`gitlocket append \/a\.md`/],
    [4, ['create', 'd', ...anyText], /\/d is a directory[^]*below it/],
    [4, ['create', 'a.md/b', ...anyText], /A part of \/a\.md\/b is a memory/],
    [4, ['mv', 'a.md', 'd/b.md'], /taken/],
    [4, ['export', '.'], /is not empty/],
    [5, ['create', 'x', '--text', 'x'.repeat(102_401)], /102401 bytes; the limit is 102400/],
  ])('exits with %d: %j', async (exitCode, words, sentence) => {
    expect(await home.call(words)).toEqual(refusal(exitCode, sentence))
  })

  test.each<[exitCode: number, input: Uint8Array, sentence: RegExp]>([
    [2, Uint8Array.of(0xff, 0xfe), /Standard input must be UTF-8 text/],
    [2, Uint8Array.of(0x61, 0), /NUL/],
    [5, new Uint8Array(16 * 1024 * 1024 + 1).fill(0x61), /larger than a memory can be/],
  ])(
    'exits with %d for standard input of the wrong kind',
    { tags: 'slow' },
    async (exitCode, input, sentence) => {
      expect(await home.run(['create', 'x', '-'], { input })).toEqual(refusal(exitCode, sentence))
    },
  )

  const starts: readonly (readonly [exitCode: number, words: string[]])[] = [
    [2, ['lgo']],
    [2, ['create', '../x', ...anyText]],
    [3, ['cat', 'nothing']],
    [4, ['create', 'a.md', ...anyText]],
    [5, ['create', 'x', '--text', 'x'.repeat(102_401)]],
    [7, ['ls', '--store', 'nowhere']],
  ]
  test.each(sample(starts, 2))(
    'exits with %d as a process, too',
    { tags: 'slow' },
    async (exitCode, words) => {
      const result = await home.run(words)
      expect(result.exitCode).toBe(exitCode)
      expect(result).toEqual(await home.call(words))
    },
  )

  test('leaves the store unchanged', async () => {
    expect((await home.json('status'))['head']).toBe(head)
  })

  test.each([
    ['key quota', ['many']],
    ['log', ['--limit', 'many']],
    ['log', ['--since', 'tomorrow']],
    ['cat', ['a.md', '--at', 'tomorrow']],
    ['show', ['memver_']],
  ])('a value that %s refuses gets its help as the hint: %s', async (name, words) => {
    const { exitCode, stderr } = await home.call([...name.split(' '), ...words])
    expect(exitCode).toBe(2)
    expect(stderr).toContain(`\nhint: \`gitlocket ${name} --help\` shows the options\n`)
  })

  test('with --json the error is one JSON value on standard error', { tags: 'slow' }, async () => {
    const { stdout, stderr, exitCode } = await home.run(['rm', 'nothing', '--json'])
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 3 })
    expect(JSON.parse(stderr)).toEqual({
      type: 'error',
      error: {
        type: 'not_found_error',
        code: 'not_found',
        message: expect.any(String),
        hint: expect.any(String),
        exit_code: 3,
        path: '/nothing',
      },
    })
  })
})

describe('a store that cannot be opened', () => {
  test(
    'no identity: names the file and the commands that create one',
    { tags: 'slow' },
    async () => {
      const home = newHome()
      const result = await home.run(['ls'])
      expect(result).toEqual(
        refusal(
          8,
          /There is no store on this machine yet, and no identity file at .*\/identity\nstore: /,
        ),
      )
      expect(result.stderr).toMatch(/`gitlocket init` .* `gitlocket join <url>`/)
    },
  )

  test('no store', async () => {
    const home = await newHomeWithStore()
    const result = await home.call(['ls', '--store', 'nowhere'])
    expect(result).toEqual(refusal(7, /\nstore: .*\/nowhere\n/))
  })

  test.each<[name: string, exitCode: number, breaking: (home: Home) => void]>([
    [
      'an empty directory',
      7,
      ({ store }) => (rmSync(store, { recursive: true }), mkdirSync(store)),
    ],
    ['a file', 7, ({ store }) => (rmSync(store, { recursive: true }), writeFileSync(store, ''))],
    ['a damaged identity', 8, ({ identityFile }) => writeFileSync(identityFile, 'GITLOCKET-X\n')],
    ['an empty identity', 8, ({ identityFile }) => writeFileSync(identityFile, '')],
    ['no packs', 11, ({ store }) => rmSync(join(store, 'objects/pack'), { recursive: true })],
    [
      'a newer repository',
      7,
      ({ store }) => writeFileSync(join(store, 'config'), '[core]\nrepositoryformatversion = 2\n'),
    ],
    ['a shallow clone', 7, ({ store }) => writeFileSync(join(store, 'shallow'), '0'.repeat(40))],
    [
      'a damaged anchor',
      11,
      ({ stateDirectory }) => {
        const names = readdirSync(stateDirectory, { recursive: true, encoding: 'utf8' })
        const anchor = names.find((name) => name.endsWith('.anchor')) ?? ''
        writeFileSync(join(stateDirectory, anchor), 'damaged')
      },
    ],
  ])('%s exits with %d', async (_, exitCode, breaking) => {
    const home = await newHomeWithStore()
    breaking(home)
    expect(await home.call(['ls'])).toEqual(refusal(exitCode, /store: /))
  })

  test('the wrong identity, for every verb and for init', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const other = newHome()
    await other.ok('init')
    expect(await other.run(['ls', '--store', home.store])).toEqual(
      refusal(8, /`gitlocket recover`/),
    )
    expect(await other.run(['init', '--store', home.store])).toEqual(
      refusal(8, /is not one of its devices/),
    )
    const stranger = newHome()
    expect(await stranger.run(['init', '--store', home.store])).toEqual(
      refusal(4, /`gitlocket recover`/),
    )
    expect(() => readFileSync(stranger.identityFile)).toThrow(/ENOENT/)
  })

  test('init refuses a directory with other contents, and a file', { tags: 'slow' }, async () => {
    const home = newHome()
    home.file('full/file', '')
    const result = await home.run(['init', '--store', 'full'])
    expect(result.exitCode).toBeGreaterThan(0)
    home.file('plain', '')
    expect(await home.run(['init', '--store', 'plain'])).toEqual(refusal(4, /There is a file at/))
    expect(() => readFileSync(home.identityFile)).toThrow(/ENOENT/)
  })

  test(
    'a store that was rolled back exits with 12, until that is accepted',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const backup = join(home.directory, 'backup')
      cpSync(home.store, backup, { recursive: true })
      await home.ok('create', 'a.md', ...anyText)
      rmSync(home.store, { recursive: true })
      cpSync(backup, home.store, { recursive: true })
      expect(await home.run(['ls'])).toEqual(refusal(12, /verify --accept-rolled-back/))
      await home.ok('verify', '--accept-rolled-back')
      await home.ok('create', 'b.md', ...anyText)
      expect(await home.ok('ls')).toBe('b.md\n')
      await home.ok('verify')
    },
  )
})

describe('a disk that refuses a write', () => {
  test('a read-only home exits with 9 and names the file', { tags: 'slow' }, async () => {
    const home = newHome()
    if (isRoot) chownSync(home.directory, 65_534, 65_534)
    chmodSync(home.directory, 0o500)
    const result = await runUnprivileged(home, ['init'])
    chmodSync(home.directory, 0o700)
    expect(result).toEqual(refusal(9, /identity file at .*: permission was denied/))
  })

  test.runIf(isRoot)('a store of another user exits with 9', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const result = await runUnprivileged(home, ['ls', '--store', home.store])
    expect(result).toEqual(refusal(9, /permission was denied/))
  })

  test(
    'a full disk exits with 9, and earlier memories are not lost',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', ...anyText)
      // The file size limit replaces the end of the disk; any user can set this one limit alone.
      const script = `trap '' XFSZ; ulimit -f 4; exec "$0" "$@"`
      const words = [process.execPath, mainFile, 'create', 'b.md', '--text', 'b'.repeat(90_000)]
      const options = { cwd: home.directory, env: home.environment() }
      const result = await ended(spawn('/bin/sh', ['-c', script, ...words], options))
      expect(result).toEqual(refusal(9, /store: /))
      expect(await home.ok('ls')).toBe('a.md\n')
      await home.ok('create', 'c.md', ...anyText)
      await home.ok('verify')
    },
  )

  test('an answer that cannot be written exits with 9', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const words = ['-c', 'exec "$0" "$@" > /dev/full', process.execPath, mainFile, 'ls', '--help']
    const options = { cwd: home.directory, env: home.environment() }
    const result = await ended(spawn('/bin/sh', words, options))
    expect(result).toMatchObject({ exitCode: 9, stderr: /Could not write the answer/ })
  })
})

describe('tampering', () => {
  const stockGit = requires('git')
  test.skipIf(stockGit.missing)(
    `a commit by git exits with 11${stockGit.note}`,
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', ...anyText)
      const tree = git(['rev-parse', 'HEAD^{tree}'], home.store).trim()
      const commit = git(['commit-tree', tree, '-p', 'HEAD', '-m', 'x'], home.store).trim()
      git(['update-ref', 'refs/heads/main', commit], home.store)
      expect(await home.run(['ls'])).toEqual(refusal(11, /hint: Do not use this copy/))
    },
  )
})
