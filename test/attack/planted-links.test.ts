// T38: symbolic links at the names that a store writes to, planted by another user who may write to
// one of its directories, so that a file of the user outside of the store is overwritten, emptied
// or read. Each file is created exclusively, temporary ones under random names, and no link is
// followed.

import {
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.ts'
import { filesBelow } from '../../src/disk/file-sweep.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { createStore, generateIdentity, type OpenOptions, openStore } from '../../src/index.ts'
import { repairStore } from '../../src/store/repair/repair.ts'
import { bareRemote } from '../support/clones.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { author, contentsOf, leastStretch } from '../support/stores.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

const precious = 'a file of the user'
let directory: string
let victim: string
beforeEach(() => {
  directory = temporaryDirectory()
  victim = join(directory, 'victim')
  writeFileSync(victim, precious)
})

/** A disk whose attacker knows each name at the moment when a file is about to get it. */
function besiegedDisk(created: Set<string>): Disk {
  const plant = (path: string): void => symlinkSync(victim, path)
  return {
    ...systemDisk,
    open(path, mode) {
      if (mode !== 'wx') return systemDisk.open(path, mode)
      created.add(relative(directory, path))
      for (const target of [victim, join(directory, 'nothing')]) {
        symlinkSync(target, path)
        expect(() => systemDisk.open(path, mode)).toThrow('it exists already')
        rmSync(path)
      }
      return systemDisk.open(path, mode)
    },
    rename(from, to) {
      const isNew = lstatSync(to, { throwIfNoEntry: false }) === undefined
      if (isNew) plant(to)
      systemDisk.rename(from, to)
      expect(lstatSync(to).isSymbolicLink()).toBe(false)
    },
    link(from, to) {
      if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) return systemDisk.link(from, to)
      plant(to)
      expect(systemDisk.link(from, to)).toBe(false)
      rmSync(to)
      return systemDisk.link(from, to)
    },
  }
}

async function optionsIn(folder: string, disk: Disk): Promise<OpenOptions> {
  const repository = join(folder, 'store')
  return {
    directory: repository,
    stateDirectory: join(folder, 'state'),
    identity: await generateIdentity(),
    disk,
    packer: inlinePacker(disk, repository),
  }
}

/** Everything that writes a file. Returns what the store shows then. */
async function live(options: OpenOptions): Promise<Record<string, string>> {
  const { store } = await createStore({ ...options, stretch: leastStretch })
  await store.as(author).write('/a.md', 'one')
  await store.as(author).write('/a.md', 'two')
  await store.history.versions()
  await store.remotes.add('origin', bareRemote())
  await store.as(author).sync()
  await store.as(author).redact({ select: { matching: /one/ }, reason: 'leaked_secret' })
  await store.as(author).sync()
  await store.maintenance.compact()
  await store.close()
  git(['symbolic-ref', 'HEAD', 'refs/heads/main'], options.directory)
  rmSync(join(options.directory, 'config'))
  await repairStore(options)
  const again = await openStore(options)
  const contents = await contentsOf(again)
  await again.close()
  return contents
}

test.each(['r', 'r+'] as const)('T38: a link is not opened %j', (mode) => {
  symlinkSync(victim, join(directory, 'link'))
  expect(() => systemDisk.open(join(directory, 'link'), mode)).toThrow('a symbolic link')
})

test('T38: no link is followed, at any name that a file gets', { tags: 'slow' }, async () => {
  const created: ReadonlySet<string>[] = []
  for (const name of ['one', 'two']) {
    const names = new Set<string>()
    const folder = join(directory, name)
    mkdirSync(folder)
    expect(await live(await optionsIn(folder, besiegedDisk(names)))).toEqual({ '/a.md': 'two' })
    expect(readFileSync(victim, 'utf8')).toBe(precious)
    created.push(new Set([...names].map((path) => relative(name, path))))
  }
  const [one, two] = created
  const predictable = [...(one ?? [])].filter((path) => two?.has(path))
  expect(predictable).toEqual(['store/gitlocket/journal-a', 'store/gitlocket/journal-b'])
  expect(one?.size).toBeGreaterThan(20)
})

describe('T38: a link in a store that exists', () => {
  let options: OpenOptions
  beforeEach(async () => {
    options = await optionsIn(directory, systemDisk)
    const { store } = await createStore(options)
    await store.as(author).write('/a.md', 'one')
    await store.history.versions()
    await store.close()
  })

  /** The files of the store and those of its device. */
  function files(): readonly string[] {
    return [options.directory, options.stateDirectory].flatMap((one) => filesBelow(systemDisk, one))
  }

  /** The verdict on opening it, writing, packing and closing. */
  function use(): Promise<string> {
    return verdictOf(async () => {
      const store = await openStore(options)
      await store.as(author).write('/b.md', 'two')
      await store.history.versions()
      await store.maintenance.checkpoint()
      await store.close()
    })
  }

  test('at the temporary names of earlier releases is not followed', async () => {
    const [inside, beside] = [options.directory, options.stateDirectory].map((folder) => {
      return filesBelow(systemDisk, folder).map((path) => `${path}.tmp`)
    })
    for (const path of beside ?? []) symlinkSync(victim, path)
    expect(await use()).toBe('accepted')
    expect(readFileSync(victim, 'utf8')).toBe(precious)
    for (const path of inside ?? []) symlinkSync(victim, path)
    expect(await use()).toBe('unsupported_repository')
    expect(readFileSync(victim, 'utf8')).toBe(precious)
  })

  test('in place of any of its files is not followed', { tags: 'slow' }, async () => {
    const verdicts = new Set<string>()
    for (const path of files()) {
      const kept = join(directory, 'kept')
      renameSync(path, kept)
      writeFileSync(victim, readFileSync(kept))
      symlinkSync(victim, path)
      verdicts.add(await use())
      expect(readFileSync(victim)).toEqual(readFileSync(kept))
      rmSync(path, { force: true })
      mkdirSync(dirname(path), { recursive: true })
      renameSync(kept, path)
    }
    expect([...verdicts]).toContain('storage_failed')
  })

  test.each(['', precious])(
    'a hard link to a file of the user is not written: %j',
    async (text) => {
      const journal = join(options.directory, 'gitlocket/journal-a')
      writeFileSync(victim, text)
      rmSync(journal, { force: true })
      linkSync(victim, journal)
      expect(await use()).not.toBe('accepted')
      expect(readFileSync(victim, 'utf8')).toBe(text)
    },
  )

  test('as `cp -al` makes them changes neither store, until one has its own', async () => {
    const copy = join(directory, 'copy')
    for (const path of filesBelow(systemDisk, options.directory)) {
      const to = join(copy, relative(options.directory, path))
      mkdirSync(dirname(to), { recursive: true })
      linkSync(path, to)
    }
    const journals = ['journal-a', 'journal-b'].map((name) =>
      join(options.directory, 'gitlocket', name),
    )
    const before = journals.map((path) => readFileSync(path))
    expect(await use()).toBe('storage_failed')
    expect(journals.map((path) => readFileSync(path))).toEqual(before)
    for (const path of journals) {
      copyFileSync(path, `${path}-own`)
      renameSync(`${path}-own`, path)
    }
    expect(await use()).toBe('accepted')
  })
})

describe('T38: a link in place of a directory is refused, and its target is unharmed', () => {
  const names = [
    'gitlocket',
    'gitlocket/cache',
    'gitlocket/damaged',
    'gitlocket/repair',
    'objects',
    'objects/00',
    'objects/info',
    'objects/pack',
    'refs',
    'refs/heads',
    'refs/remotes',
    'logs',
    'worktrees',
  ]

  /** A store with something to redact, and where the user keeps files. */
  async function prepared(): Promise<{ options: OpenOptions; home: string }> {
    const options = await optionsIn(directory, systemDisk)
    const { store } = await createStore(options)
    await store.as(author).write('/a.md', 'one')
    await store.as(author).write('/a.md', 'two')
    await store.close()
    const home = join(directory, 'home')
    mkdirSync(join(home, 'pack'), { recursive: true })
    mkdirSync(join(home, 'cache/more'), { recursive: true })
    for (const name of ['state', 'pack/tmp_x', 'cache/more/b']) {
      writeFileSync(join(home, name), precious)
    }
    return { options, home }
  }

  function plant({ directory: repository }: OpenOptions, name: string, home: string): void {
    const path = join(repository, name)
    rmSync(path, { recursive: true, force: true })
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(home, path)
  }

  function contentsBelow(home: string): readonly string[] {
    return filesBelow(systemDisk, home).map((path) => `${path} ${readFileSync(path, 'utf8')}`)
  }

  test.each(names)('%s, when a store is opened or repaired', async (name) => {
    const { options, home } = await prepared()
    const before = contentsBelow(home)
    plant(options, name, home)
    expect(await verdictOf(() => openStore(options))).toBe('unsupported_repository')
    expect(await verdictOf(() => repairStore(options))).toBe('unsupported_repository')
    expect(contentsBelow(home)).toEqual(before)
  })

  test.each(['gitlocket/cache', 'gitlocket/damaged', 'logs', 'worktrees'])(
    '%s, when it is planted before an erasure',
    async (name) => {
      const { options, home } = await prepared()
      const before = contentsBelow(home)
      const store = await openStore(options)
      plant(options, name, home)
      const redact = { select: { matching: /one/ }, reason: 'leaked_secret' } as const
      expect(await verdictOf(() => store.as(author).redact(redact))).toBe('unsupported_repository')
      await store.close().catch(() => undefined)
      // A store that is open may still add a folder with a cache.
      expect(contentsBelow(home)).toEqual(expect.arrayContaining([...before]))
    },
  )

  test('a store behind a link is opened as any other', async () => {
    const { options } = await prepared()
    const link = join(directory, 'link')
    symlinkSync(options.directory, link)
    const store = await openStore({ ...options, directory: link })
    expect(await contentsOf(store)).toEqual({ '/a.md': 'two' })
    await store.close()
  })
})

test('T38: the remains of an interrupted write are swept up', async () => {
  const options = await optionsIn(directory, systemDisk)
  const { store } = await createStore(options)
  await store.as(author).write('/a.md', 'one')
  const [anchor = ''] = filesBelow(systemDisk, options.stateDirectory)
  const left = `${anchor}.0011223344556677.tmp`
  writeFileSync(left, 'half')
  writeFileSync(`${anchor}.of-another.tmp`, 'another')
  await store.close()
  const names = systemDisk.list(dirname(anchor))
  expect(names).toEqual([basename(anchor), `${basename(anchor)}.of-another.tmp`])
})
