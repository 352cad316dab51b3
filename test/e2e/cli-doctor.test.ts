// `doctor`: passes healthy stores, and names faults with a fix.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { concatBytes } from '../../src/bytes.ts'
import { encodeBatch } from '../../src/git/journal/journal-frame.ts'
import type { Transition } from '../../src/git/object-store.ts'
import { OidList } from '../../src/git/objects/oid-list.ts'
import { encodeIntent } from '../../src/git/purge/purge-intent.ts'
import { mendStore } from '../../src/operations/error-surface.ts'
import { git } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { TestHistory } from '../support/transitions.ts'
import { type Home, newHomeWithStore } from './cli-process.ts'

/** A journal file with a batch for each transition, and where those begin. */
function journalOf(transitions: readonly Transition[]): { bytes: Uint8Array; starts: number[] } {
  const origin = { generation: 1, salt: new Uint8Array(16) }
  let bytes: Uint8Array = encodeBatch(origin, { start: 0, durable: 0 }, []).bytes
  const starts: number[] = []
  for (const transition of transitions) {
    const start = bytes.length
    starts.push(start)
    const batch = encodeBatch(origin, { start, durable: start }, [transition])
    bytes = concatBytes(bytes, batch.bytes)
  }
  return { bytes: concatBytes(bytes, new Uint8Array(4096)), starts }
}

function headOf({ store }: Home): string {
  return readFileSync(join(store, 'refs/heads/main'), 'latin1').trim()
}

describe('doctor', () => {
  test('finds nothing wrong with a new store', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a')
    const report = await home.json('doctor')
    expect(report['healthy']).toBe(true)
    expect(report['checks']).not.toContainEqual(expect.objectContaining({ level: 'fail' }))
    expect(report['checks']).toContainEqual(
      expect.objectContaining({ check: 'Store', level: 'ok' }),
    )
    expect(await home.ok('doctor')).toMatch(/^ok {4}Identity /)
  })

  test('names the lock of a dead git, which does not stop a change', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    writeFileSync(join(home.store, 'refs/heads/main.lock'), '')
    expect(await home.ok('create', 'a.md', '--text', 'a')).toContain('Created')
    expect(await home.ok('cat', 'a.md')).toBe('a')
    expect((await home.json('doctor'))['checks']).toContainEqual({
      check: 'Branch lock',
      level: 'warn',
      found: expect.stringContaining('refs/heads/main.lock exists'),
      fix: expect.stringContaining('delete the file'),
    })
    rmSync(join(home.store, 'refs/heads/main.lock'))
    await home.ok('create', 'b.md', '--text', 'b')
    expect(JSON.stringify(await home.json('doctor'))).not.toContain('Branch lock')
    expect(await home.ok('ls')).toBe('a.md\nb.md\n')
  })

  const stockGit = requires('git')
  test.skipIf(stockGit.missing)(
    `counts unreachable objects${stockGit.note}`,
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', '--text', 'a')
      const clean = await home.json('doctor')
      const none = { objects: 0, bytes: 0 }
      expect(clean['reclaimable']).toEqual({ erased: none, repeated: none, unreachable: none })
      git(['commit-tree', '-m', 'lost', 'main^{tree}'], home.store)
      const { reclaimable } = await home.json('doctor')
      expect(reclaimable).toMatchObject({ repeated: none, unreachable: { objects: 1 } })
      expect(await home.ok('doctor')).toMatch(/^ok {4}Reclaimable {7}1 unreachable object, \d+ B$/m)
      expect(await home.ok('status', '--verbose')).toMatch(
        /^To free {4}nothing; `gitlocket doctor` looks closer$/m,
      )
    },
  )

  test.skipIf(stockGit.missing)(
    `names the files of sync clients and file managers, which are then deleted${stockGit.note}`,
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', '--text', 'a')
      const id = git(['hash-object', '-w', '--stdin'], home.store, 'loose').trim()
      const planted = [
        'refs/heads/desktop.ini',
        'refs/heads/.DS_Store',
        'refs/heads/main (conflicted copy 2026-01-31)',
        'refs/heads/main.sync-conflict-20260131-120000-ABCDEFG',
        'refs/notes.txt',
        `objects/${id.slice(0, 2)}/Thumbs.db`,
        'objects/pack/.syncthing.pack-1.pack.tmp',
        'gitlocket/.DS_Store',
        'config~',
      ]
      const head = `${headOf(home)}\n`
      for (const name of planted) {
        writeFileSync(join(home.store, name), name.includes('main') ? head : '[.Shell]\r\n')
      }
      await home.ok('append', 'a.md', '--text', 'b')
      const found = await home.json('doctor')
      expect(found).toMatchObject({ healthy: true })
      const named = planted.toSorted().map((name) => JSON.stringify(name))
      expect(found['checks']).toContainEqual({
        check: 'Foreign files',
        level: 'warn',
        found: named.join(', '),
        fix: expect.stringMatching(/^Delete them/),
      })
      expect(JSON.stringify(found)).not.toContain('--repair')
      for (const name of planted) rmSync(join(home.store, name))
      expect((await home.json('doctor'))['checks']).toEqual(
        expect.arrayContaining([
          { check: 'Foreign files', level: 'ok', found: 'none', fix: null },
          { check: 'git fsck', level: 'ok', found: 'clean', fix: null },
        ]),
      )
      expect(await home.ok('cat', 'a.md')).toBe('a\nb')
    },
  )

  test(
    'names a damaged journal, and the intact commits on both sides of the damage',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const path = join(home.store, 'gitlocket/journal-a')
      const { bytes, starts } = journalOf(new TestHistory(1, headOf(home)).take(4))
      const [, second = 0, third = 0] = starts
      bytes[second + 90] = (bytes[second + 90] ?? 0) ^ 1
      writeFileSync(path, bytes)
      expect(await home.call(['ls'])).toMatchObject({ exitCode: 17 })
      const { exitCode, stdout } = await home.call(['doctor', '--json'])
      expect(exitCode).toBe(17)
      expect(JSON.parse(stdout).checks).toContainEqual({
        check: 'Journal',
        level: 'fail',
        found:
          `gitlocket/journal-a is damaged (bytes ${second} to ${third}); ` +
          'intact are 1 command before that and 2 commands after it',
        fix: mendStore,
      })
      expect(readFileSync(path)).toEqual(Buffer.from(bytes))
    },
  )

  test.each<[name: string, check: string, level: string, exitCode: number, (home: Home) => void]>([
    ['no identity', 'Identity', 'fail', 8, ({ identityFile }) => rmSync(identityFile)],
    [
      'an open identity',
      'Identity',
      'fail',
      8,
      ({ identityFile }) => chmodSync(identityFile, 0o644),
    ],
    ['an open store', 'Permissions', 'warn', 0, ({ store }) => chmodSync(store, 0o755)],
    [
      'no state directory',
      'State directory',
      'warn',
      0,
      ({ stateDirectory }) => rmSync(stateDirectory, { recursive: true }),
    ],
    ['no store', 'Store', 'fail', 7, ({ store }) => rmSync(store, { recursive: true })],
    [
      'a lost pack',
      'Store',
      'fail',
      11,
      ({ store }) => emptyDirectory(join(store, 'objects/pack')),
    ],
    [
      'a pipe, without running git, which would wait for ever',
      'git fsck',
      'fail',
      11,
      ({ store }) => execFileSync('mkfifo', [join(store, 'ORIG_HEAD')]),
    ],
    [
      'a list of objects to erase that another device has written',
      'Redaction',
      'warn',
      0,
      ({ store }) => {
        const oid = '12'.repeat(20)
        const intent = { expected: oid, next: oid, packs: [], dead: OidList.of([oid]) }
        const bytes = encodeIntent(intent, new Uint8Array(32))
        writeFileSync(join(store, 'gitlocket/purge-0123456789abcdef'), bytes)
      },
    ],
  ])('reports %s, with a fix', { tags: 'slow' }, async (_, check, level, exitCode, breaking) => {
    const home = await newHomeWithStore()
    breaking(home)
    const result = await home.call(['doctor', '--json'])
    const { checks } = JSON.parse(result.stdout)
    expect(result.exitCode).toBe(exitCode)
    expect(checks).toContainEqual({
      check,
      level,
      found: expect.any(String),
      fix: expect.stringMatching(/\w/),
    })
  })

  test.skipIf(stockGit.missing)(`runs git fsck too${stockGit.note}`, async () => {
    const home = await newHomeWithStore()
    writeFileSync(join(home.store, 'refs/heads/other'), `${'1'.repeat(40)}\n`)
    const { checks } = JSON.parse((await home.call(['doctor', '--json'])).stdout)
    expect(checks).toContainEqual(expect.objectContaining({ check: 'git fsck', level: 'fail' }))
  })

  test('a state directory inside the store is a mistake', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const inside = join(home.store, 'state')
    cpSync(home.stateDirectory, inside, { recursive: true })
    const env = { GITLOCKET_STATE_DIRECTORY: inside }
    const { stdout } = await home.call(['doctor'], env)
    expect(stdout).toMatch(/warn {2}State directory {3}inside the store/)
  })
})

function emptyDirectory(directory: string): void {
  rmSync(directory, { recursive: true })
  mkdirSync(directory)
}

describe('doctor --repair', () => {
  test('changes nothing in a valid store', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a')
    expect(await home.ok('doctor', '--repair')).toBe('The store is sound: nothing was changed\n')
    expect(readdirSync(join(home.store, 'gitlocket'))).not.toContain('damaged')
  })

  test.each([
    ['empty', ''],
    ['damaged', 'no commit\n'],
  ])('names a branch file that is %s, and mends it', async (state, text) => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a')
    writeFileSync(join(home.store, 'refs/heads/main'), text)
    const refused = await home.call(['ls'])
    expect([refused.exitCode, refused.stderr]).toEqual([
      11,
      expect.stringContaining(`refs/heads/main is ${state}`),
    ])
    expect(refused.stderr).toContain('doctor --repair')
    const planned = await home.json('doctor', '--repair', '--dry-run')
    expect(planned).toMatchObject({ sound: false, whole: true })
    expect((await home.call(['ls'])).exitCode).toBe(11)
    expect(await home.ok('doctor', '--repair')).toMatch(/^damaged {2}refs\/heads\/main: /)
    expect(await home.ok('cat', 'a.md')).toBe('a')
  })

  test('takes missing objects from a backup, and names them before', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'kept.md', '--text', 'kept')
    const backup = `${home.store}-backup`
    cpSync(home.store, backup, { recursive: true })
    for (const name of readdirSync(join(home.store, 'objects/pack'))) {
      rmSync(join(home.store, 'objects/pack', name))
    }
    const alone = await home.call(['doctor', '--repair'])
    expect(alone.exitCode).toBe(11)
    expect(alone.stderr).toContain('No commit of the store can be read here')
    const mended = await home.json('doctor', '--repair', '--from', backup)
    expect(mended).toMatchObject({ whole: true, anchor: 'kept', missing: [], lost_changes: [] })
    expect(await home.ok('cat', 'kept.md')).toBe('kept')
  })

  test(
    'puts damaged files where doctor, verify --absence and a redaction know them',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'kept.md', '--text', 'kept')
      await home.ok('create', 'leak.md', '--text', 'leak')
      await home.ok('rm', 'leak.md')
      const backup = `${home.store}-backup`
      cpSync(home.store, backup, { recursive: true })
      for (const name of readdirSync(join(home.store, 'objects/pack'))) {
        if (!name.endsWith('.pack')) continue
        const file = join(home.store, 'objects/pack', name)
        const bytes = readFileSync(file)
        rmSync(file)
        writeFileSync(file, bytes.subarray(0, bytes.length >> 1))
      }
      expect(await home.ok('doctor', '--repair', '--from', backup)).toContain('gitlocket/damaged/1')
      const aside = 'in gitlocket/damaged of the store'
      expect(await home.ok('doctor')).toContain(aside)
      expect(await home.ok('verify', '--absence')).toContain(`${aside}: not searched`)
      expect((await home.call(['redact', '--path', 'leak.md', '--yes'])).exitCode).toBe(0)
      expect(await home.ok('verify', '--absence')).not.toContain(aside)
      expect(await home.ok('doctor')).not.toContain(aside)
    },
  )

  test('takes its options only together', async () => {
    const home = await newHomeWithStore()
    expect((await home.call(['doctor', '--from', home.store])).exitCode).toBe(2)
    const elsewhere = await home.call(['doctor', '--repair', '--from', '/nowhere'])
    expect([elsewhere.exitCode, elsewhere.stderr]).toEqual([
      7,
      expect.stringContaining('no repository'),
    ])
  })
})
