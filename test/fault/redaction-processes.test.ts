// Several processes on a store while versions are redacted: who reads and writes meanwhile sees the
// old state or the new one, loses no write and meets no error; the redacting process is killed; two
// of them redact at once. Afterwards nothing is left of what was erased, in the caches of nobody.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Disk, systemDisk } from '../../src/git/disk.ts'
import { createStore, formatIdentity, generateIdentity, openStore } from '../../src/index.ts'
import type { Author, Identity, MemoryStore } from '../../src/index.ts'
import { full, sample, seed } from '../support/seed.ts'
import { copyDirectory, git, sharedDirectory, temporaryDirectory } from '../support/temporary.ts'
import { seededBytes } from '../support/transitions.ts'

const program = fileURLToPath(new URL('../support/redaction-process.mjs', import.meta.url))
const author: Author = { actor: { type: 'user', id: 'officer' } }
const reason = 'leaked_secret' as const
const kills = full ? 25 : 1
/** With so many commits the history is worth a cache file, and is read in more than one turn. */
const long = 520
/** Where another process is what matters. */
const short = full ? long : 30

const templates = new Map<number, ReturnType<typeof makeTemplate>>()
const roots = new Map([long, short].map((length) => [length, sharedDirectory()]))

interface Device {
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
  readonly identityFile: string
}

interface Site {
  readonly first: Device
  readonly second: Device
  /** Closed versions that hold secrets, one of each of so many memories. */
  readonly secrets: readonly string[]
  /** One more, at the very beginning. */
  readonly deep: string
}

describe('a process that reads and writes, while another one redacts', () => {
  test.each(sample(['first', 'second'] as const, 2))('on the %s device', async (who) => {
    const site = await newSite(full ? 6 : 2, short)
    const worker = startProcess('work', site[who], 'worker', site.secrets)
    const store = await openStore(site.first)
    const dead: string[] = []
    for (const id of site.secrets) {
      const seen = worker.lines('wrote').length
      await expect.poll(() => worker.lines('wrote').length, patience).toBeGreaterThan(seen + 1)
      const select = { versionIds: [id] }
      const { certificate } = await store.redact({ select, reason }, author)
      dead.push(...(certificate?.object_ids ?? []))
    }
    await expect.poll(() => worker.lines('gone').length, patience).toBe(site.secrets.length)
    await worker.end()
    await store.close()
    await expectErased(site, site.secrets, [worker], dead)
  })
})

test(`a redacting process, killed ${kills} times, leaves the old state or the new`, async () => {
  const site = await newSite(2, short)
  const random = seededBytes(seed)
  const worker = startProcess('work', site.second, 'worker', site.secrets)
  await expect.poll(() => worker.lines('wrote').length, patience).toBeGreaterThan(0)
  const redacted = new Set<string>()
  for (let round = 0; round < kills; round += 1) {
    const ids = await writeSecrets(site.first, `/round-${round}`, 4)
    const redactor = startProcess('redact', site.first, `redactor-${round}`, ids)
    await expect.poll(() => redactor.lines('opened').length, patience).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, (random(1)[0] ?? 0) * 3))
    await redactor.kill()
    const found = await whichAreRedacted(site.first, ids)
    expect(found).toEqual(expect.arrayContaining([...redactor.lines('redacted')]))
    for (const id of found) redacted.add(id)
  }
  await worker.end()
  expect(redacted.size).toBeGreaterThan(0)
  await expectErased(site, [...redacted], [worker], [])
})

test('two processes that redact at once, beside a third that writes', async () => {
  const site = await newSite(full ? 12 : 4, short)
  const worker = startProcess('work', site.second, 'worker', site.secrets)
  const redactors = [0, 1].map((rest) => {
    const ids = site.secrets.filter((_, index) => index % 2 === rest)
    return startProcess('redact', site.first, `redactor-${rest}`, ids)
  })
  for (const redactor of redactors) await redactor.end()
  await expect.poll(() => worker.lines('gone').length, patience).toBe(site.secrets.length)
  await worker.end()
  await expectErased(site, site.secrets, [worker], [])
})

type Question = (store: MemoryStore, site: Site, progress: () => void) => Promise<unknown>

/** Long enough for the redaction to come in between, and for a read to notice it. */
const questions: readonly (readonly [name: string, question: Question])[] = [
  ['the versions', (store, _, progress) => store.versions({}, { progress })],
  [
    'a moment of the past',
    async (store, { secrets }, progress) => {
      return (await store.at({ versionId: secrets[0] ?? '' }, { progress })).list('/')
    },
  ],
  ['a proof of absence', (store, _, progress) => store.proveAbsence({ progress })],
  ['a verification', (store, _, progress) => store.verify({ progress, threads: 0 })],
]

describe('another process redacts, and erases, while this one is asked for', () => {
  test.each(sample(questions, 3))('%s', async (_, question) => {
    const site = await newSite(1)
    const { first, second, deep: id } = site
    // The history has to be read from git when the question comes.
    const forget = (): void => rmSync(`${first.directory}/gitlocket/cache`, { recursive: true })
    forget()
    const store = await openStore(second)
    forget()
    let reading: Promise<unknown> | undefined
    const answer = await question(store, site, () => {
      if (reading !== undefined) return
      const child = spawnSync(process.execPath, argumentsOf('redact', first, 'redactor', [id]))
      expect(child.stderr.toString()).toBe('')
      reading = store.read('/filler.md')
    })
    expect(answer).toBeDefined()
    expect(await reading).toMatchObject({ path: '/filler.md' })
    expect(await store.version(id)).toMatchObject({ path: undefined, content: undefined })
    await store.close()
    await expectErased(site, [id], [], [])
  })

  test('nothing but a memory, after it has read the history: it keeps no copy', async () => {
    const site = await newSite(1)
    const store = await openStore(site.second)
    await store.versions()
    const redactor = startProcess('redact', site.first, 'redactor', site.secrets)
    await redactor.end()
    expect(await store.read('/filler.md')).toBeDefined()
    await store.close()
    const again = await openStore(site.second)
    expect((await again.proveAbsence()).found).toEqual([])
    await again.close()
    await expectErased(site, site.secrets, [], [])
  })
})

const patience = { timeout: 50_000, interval: 5 }

/** What every test comes to: nobody misses a write, and nobody finds what was erased. */
describe('another process redacts before any read of one that', () => {
  test.each([
    ['opens the store on the first device', 'first', opening],
    ['opens the store on the second device', 'second', opening],
    ['asks how the store stands', 'first', asking],
  ] as const)('%s', async (_, who, act) => {
    const site = await newSite(1, short)
    let total = 0
    await act(copyOf(site)[who], () => (total += 1))
    const rows = Array.from({ length: total }, (__, n) => n + 1)
    expect(rows.length).toBeGreaterThan(3)
    for (const row of sample(rows, Math.ceil(total / 4))) {
      const copy = copyOf(site)
      let count = 0
      const store = await act(copy[who], () => {
        count += 1
        if (count !== row) return
        const redacting = argumentsOf('redact', copy.first, 'redactor', [copy.deep])
        const child = spawnSync(process.execPath, redacting)
        expect(child.stderr.toString(), `read ${row} of ${total}`).toBe('')
      })
      expect(await store.verify()).toMatchObject({ memories: 3 })
      await store.close()
      expect(await whichAreRedacted(copy[who], [copy.deep])).toEqual([copy.deep])
    }
  })
})

/** Ends with the store open. `onRead` is told before each read while no lock is held. */
async function opening(device: Device, onRead: () => void): Promise<MemoryStore> {
  return openStore({ ...device, disk: watched(onRead) })
}

async function asking(device: Device, onRead: () => void): Promise<MemoryStore> {
  let isAsking = false
  const store = await openStore({ ...device, disk: watched(() => isAsking && onRead()) })
  isAsking = true
  expect((await store.status()).memories).toBe(3)
  isAsking = false
  return store
}

function copyOf(site: Site): Site {
  const [from, to] = [dirname(site.first.directory), temporaryDirectory()]
  copyDirectory(from, to)
  return { ...site, first: moved(site.first, from, to), second: moved(site.second, from, to) }
}

/** Told before each read of a file or a name, but not while the lock of the writer is held. */
function watched(onRead: () => unknown): Disk {
  let isLocked = false
  const asked = (): void => {
    if (!isLocked) onRead()
  }
  return {
    ...systemDisk,
    link(from, to) {
      const isMade = systemDisk.link(from, to)
      if (to.endsWith('gitlocket/lock')) isLocked ||= isMade
      return isMade
    },
    remove(path) {
      systemDisk.remove(path)
      if (path.endsWith('gitlocket/lock')) isLocked = false
    },
    read(...args) {
      asked()
      return systemDisk.read(...args)
    },
    readFile(path) {
      asked()
      return systemDisk.readFile(path)
    },
    list(path) {
      asked()
      return systemDisk.list(path)
    },
  }
}

async function expectErased(
  { first, second }: Site,
  redacted: readonly string[],
  workers: readonly Worker[],
  objectIds: readonly string[],
): Promise<void> {
  await useOnce(first)
  for (const device of [first, second]) {
    const store = await openStore(device)
    for (const id of redacted) {
      const { content, path, redactedAt } = await store.version(id)
      expect([content, path, typeof redactedAt]).toEqual([undefined, undefined, 'number'])
    }
    for (const path of workers.flatMap((worker) => worker.lines('wrote'))) {
      expect(await store.read(path), path).toBeDefined()
    }
    expect((await store.proveAbsence({ objectIds })).found).toEqual([])
    await store.verify()
    await store.close()
  }
  git(['fsck', '--strict', '--full', '--no-dangling'], first.directory)
}

/** Whoever writes next, and closes, finishes what a dead process has left. */
async function useOnce(device: Device): Promise<void> {
  const store = await openStore(device)
  await store.apply([{ type: 'create', path: `/used-${Date.now()}.md`, content: 'x' }], author)
  await store.close()
}

/** Verifies, writes and closes; nothing is left of those that are redacted then. */
async function whichAreRedacted(device: Device, ids: readonly string[]): Promise<string[]> {
  const store = await openStore(device)
  await store.verify({ threads: 0 })
  const found: string[] = []
  for (const id of ids) {
    const { content, path } = await store.version(id)
    if (content === undefined) found.push(id)
    else expect(content).toBe(`the secret of ${path}\n`)
  }
  await store.apply([{ type: 'create', path: `/found-${ids[0]}.md`, content: 'x' }], author)
  await store.checkpoint()
  expect((await store.proveAbsence()).found).toEqual([])
  await store.close()
  return found
}

/** A copy of one that is made once: with a history, two devices, and caches of both. */
async function newSite(count: number, length: number = long): Promise<Site> {
  const template = templates.get(length) ?? makeTemplate(length)
  templates.set(length, template)
  const { first, second, deep, root } = await template
  const copy = temporaryDirectory()
  copyDirectory(root, copy)
  const site = { first: moved(first, root, copy), second: moved(second, root, copy) }
  return { ...site, deep, secrets: await writeSecrets(site.first, '/m', count) }
}

async function makeTemplate(
  length: number,
): Promise<Omit<Site, 'secrets'> & { readonly root: string }> {
  const root = roots.get(length) ?? ''
  const [first, second] = [await newDevice(root, 'one'), await newDevice(root, 'two')]
  const { store, recoveryKey } = await createStore(first)
  const [deep = ''] = await makeSecrets(store, '/deep', 1)
  await store.apply([{ type: 'create', path: '/filler.md', content: '' }], author)
  const edits = Array.from({ length }, (_, n) => {
    return store.apply([{ type: 'edit', path: '/filler.md', edit: () => `${n}\n` }], author)
  })
  await Promise.all(edits)
  await store.close()
  await (await openStore({ ...second, recoveryKey })).close()
  return { first, second, deep, root }
}

function moved(device: Device, from: string, to: string): Device {
  const move = (path: string): string => to + path.slice(from.length)
  const { identity, directory, stateDirectory, identityFile } = device
  const places = { directory: move(directory), stateDirectory: move(stateDirectory) }
  return { identity, ...places, identityFile: move(identityFile) }
}

async function newDevice(root: string, name: string): Promise<Device> {
  const identity = await generateIdentity()
  const identityFile = `${root}/identity-${name}`
  writeFileSync(identityFile, formatIdentity(identity), { mode: 0o600 })
  const stateDirectory = `${root}/state-${name}`
  return { directory: `${root}/store`, stateDirectory, identity, identityFile }
}

async function writeSecrets(device: Device, folder: string, count: number): Promise<string[]> {
  const store = await openStore(device)
  const ids = await makeSecrets(store, folder, count)
  await store.close()
  return ids
}

/** Ids of versions with a secret; a version without it follows each. */
async function makeSecrets(store: MemoryStore, folder: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) {
    const path = `${folder}/${n}.md`
    const content = `the secret of ${path}\n`
    ids.push(...(await store.apply([{ type: 'create', path, content }], author)).versionIds)
    await store.apply([{ type: 'edit', path, edit: () => 'clean\n' }], author)
  }
  return ids
}

interface Worker {
  /** What follows the word, of all lines that begin with it. */
  readonly lines: (word: string) => readonly string[]
  /** Lets it finish; throws what it complained of. */
  readonly end: () => Promise<void>
  readonly kill: () => Promise<void>
}

function startProcess(
  mode: 'work' | 'redact',
  device: Device,
  name: string,
  ids: readonly string[],
): Worker {
  const child: ChildProcess = spawn(process.execPath, argumentsOf(mode, device, name, ids))
  let output = ''
  let errors = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const closed = once(child, 'close')
  const check = (): void => expect(errors).toBe('')
  return {
    lines: (word) => {
      check()
      const lines = output.split('\n').slice(0, -1)
      return lines
        .filter((line) => line.startsWith(`${word} `))
        .map((line) => line.slice(word.length + 1))
    },
    end: async () => {
      child.stdin?.end()
      await closed
      check()
      expect(child.exitCode).toBe(0)
    },
    kill: async () => {
      child.kill('SIGKILL')
      await closed
      check()
    },
  }
}

function argumentsOf(
  mode: 'work' | 'redact',
  { directory, stateDirectory, identityFile }: Device,
  name: string,
  ids: readonly string[],
): string[] {
  return [program, mode, directory, stateDirectory, identityFile, name, ...ids]
}
