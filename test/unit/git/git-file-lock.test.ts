// @module-tag slow

import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../src/bytes.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import { LockIdentity } from '../../../src/disk/process-lock.ts'
import { Branch } from '../../../src/git/refs/branch.ts'
import {
  type GitFileLockContext,
  replaceUnderLock,
  sweepDead,
} from '../../../src/git/refs/git-file-lock.ts'
import { FaultyDisk } from '../../support/faulty-disk.ts'
import { git, temporaryDirectory } from '../../support/temporary.ts'

const name = 'refs/heads/main'
const oidA = 'a'.repeat(40)
const oidB = 'b'.repeat(40)

function context(directory: string, disk: FaultyDisk = new FaultyDisk()): GitFileLockContext {
  const ownDirectory = join(directory, 'gitlocket')
  mkdirSync(ownDirectory, { recursive: true })
  mkdirSync(join(directory, 'refs/heads'), { recursive: true })
  const identity = new LockIdentity(disk, ownDirectory, systemRandom)
  return { disk, directory, ownDirectory, identity, random: systemRandom, waitMs: 30 }
}

function move(to: string, files: GitFileLockContext, check: () => void = () => {}): Promise<void> {
  return replaceUnderLock(files, name, utf8(`${to}\n`), check)
}

describe("replacing a file by git's lock protocol", () => {
  test('replaces it and leaves no lock and no pending file', async () => {
    const directory = temporaryDirectory()
    const files = context(directory)
    for (const oid of [oidA, oidB, oidA]) await move(oid, files)
    expect(readFileSync(join(directory, name), 'utf8')).toBe(`${oidA}\n`)
    expect(readdirSync(join(directory, 'refs/heads'))).toEqual(['main'])
    await files.identity.remove()
    expect(readdirSync(join(directory, 'gitlocket'))).toEqual([])
  })

  test('leaves the file unchanged and unlocked if the check under the lock refuses', async () => {
    const directory = temporaryDirectory()
    const files = context(directory)
    await move(oidA, files)
    const refused = move(oidB, files, () => {
      expect(existsSync(join(directory, `${name}.lock`))).toBe(true)
      throw new Error('moved')
    })
    await expect(refused).rejects.toThrow('moved')
    expect(readFileSync(join(directory, name), 'utf8')).toBe(`${oidA}\n`)
    expect(readdirSync(join(directory, 'refs/heads'))).toEqual(['main'])
  })

  test('waits for a foreign lock, then refuses as locked and names the file', async () => {
    const directory = temporaryDirectory()
    const files = context(directory)
    writeFileSync(join(directory, `${name}.lock`), '')
    const error = { code: 'locked', message: expect.stringContaining('refs/heads/main.lock') }
    await expect(move(oidA, files)).rejects.toMatchObject(error)
    expect(existsSync(join(directory, `${name}.lock`))).toBe(true)
  })

  test('is seen as a lock by stock git', () => {
    const directory = temporaryDirectory()
    git(['init', '--bare', '-b', 'main', '.'], directory)
    const commit = git(['commit-tree', git(['write-tree'], directory).trim(), '-m', 'x'], directory)
    writeFileSync(join(directory, `${name}.lock`), '')
    expect(() => git(['update-ref', name, commit.trim()], directory)).toThrow('lock')
  })

  test.each(['link pending', 'rename main.lock'])(
    'a lock of a process that died at the %s is removed',
    async (at) => {
      const directory = temporaryDirectory()
      const counting = new FaultyDisk()
      await move(oidA, context(directory, counting))
      const number = counting.log.findIndex((entry) => entry.startsWith(at)) + 1
      const disk = new FaultyDisk({
        kind: 'death',
        at: number,
        moment: at === 'link pending' ? 'after' : 'before',
        loss: 'nothing',
      })
      await expect(move(oidB, context(directory, disk))).rejects.toThrow('process')
      expect(existsSync(join(directory, `${name}.lock`))).toBe(true)

      await move(oidB, context(directory))
      expect(readFileSync(join(directory, name), 'utf8')).toBe(`${oidB}\n`)
      expect(existsSync(join(directory, `${name}.lock`))).toBe(false)
    },
  )

  test('a lock of a live process of ours is not', async () => {
    const directory = temporaryDirectory()
    const other = context(directory)
    await other.identity.write()
    const pending = join(directory, 'gitlocket', `pending.${other.identity.token}.main`)
    writeFileSync(pending, `${oidB}\n`)
    linkSync(pending, join(directory, `${name}.lock`))
    await expect(move(oidA, context(directory))).rejects.toMatchObject({ code: 'locked' })
  })

  test('sweeping removes files of dead processes and keeps those of live ones', async () => {
    const directory = temporaryDirectory()
    const own = join(directory, 'gitlocket')
    const disk = new FaultyDisk()
    const dead = context(directory, disk)
    await dead.identity.write()
    writeFileSync(join(own, `pending.${dead.identity.token}.main`), '')
    linkSync(join(own, `pending.${dead.identity.token}.main`), join(directory, `${name}.lock`))
    writeFileSync(join(own, 'lock.break.0.1'), '')
    writeFileSync(join(own, 'journal-a'), '')
    disk.die('nothing')
    const living = context(directory)
    await living.identity.write()
    await sweepDead(living, [name])
    const file = `owner.${living.identity.token}`
    expect(readdirSync(own).toSorted()).toEqual(['journal-a', file, `${file}.sock`])
    expect(readdirSync(join(directory, 'refs/heads'))).toEqual([])
  })
})

function readBranch(files: Readonly<Record<string, string>>): string | undefined {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, 'refs/heads'), { recursive: true })
  for (const [path, text] of Object.entries(files)) writeFileSync(join(directory, path), text)
  return new Branch(new FaultyDisk(), directory).read()
}

describe('reading the branch', () => {
  const header = '# pack-refs with: peeled fully-peeled sorted '
  const packed = `${header}\n${oidB} refs/heads/other\n${oidA} ${name}\n^${oidB}\n`

  test.each([
    ['no file at all', {}, undefined],
    ['a loose file', { [name]: `${oidA}\n` }, oidA],
    ['packed-refs', { 'packed-refs': packed }, oidA],
    ['packed-refs without it', { 'packed-refs': `${oidA} refs/heads/mainly\n` }, undefined],
    ['both: the loose file counts', { [name]: `${oidB}\n`, 'packed-refs': packed }, oidB],
  ])('from %s', (_, files, expected) => {
    expect(readBranch(files)).toBe(expected)
  })

  test.each([
    ['an empty file', ''],
    ['a short oid', `${oidA.slice(1)}\n`],
    ['a symbolic ref', 'ref: refs/heads/other\n'],
    ['zeros of a power loss', '\0'.repeat(41)],
    ['two lines', `${oidA}\n${oidB}\n`],
  ])('%s is damage, even with packed-refs: never a branch without commits', (_, text) => {
    const error = expect.objectContaining({ code: 'ref_corrupt' })
    expect(() => readBranch({ [name]: text, 'packed-refs': packed })).toThrow(error)
  })

  test('notices that git moved it, or packed it', () => {
    const directory = temporaryDirectory()
    git(['init', '--bare', '-b', 'main', '.'], directory)
    const tree = git(['write-tree'], directory).trim()
    const branch = new Branch(new FaultyDisk(), directory)
    branch.load()
    for (const message of ['one', 'two']) {
      const commit = git(['commit-tree', tree, '-m', message], directory).trim()
      git(['update-ref', name, commit], directory)
      expect(branch.changed()).toBe(true)
      branch.load()
      expect(branch.value).toBe(commit)
      expect(branch.changed()).toBe(false)
    }
    git(['pack-refs', '--all'], directory)
    expect(branch.changed()).toBe(true)
    expect(branch.read()).toBe(branch.value)
    // From one packed state to another, as a repository that is fetched into may change.
    branch.load()
    expect(branch.changed()).toBe(false)
    const third = git(['commit-tree', tree, '-m', 'three'], directory).trim()
    git(['update-ref', name, third], directory)
    git(['pack-refs', '--all'], directory)
    expect(branch.changed()).toBe(true)
  })
})
