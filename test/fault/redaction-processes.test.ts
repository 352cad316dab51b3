// Several processes on a store while versions are redacted: readers and writers see the old state
// or the new one, lose no write and meet no error; the redacting process is killed; two of them
// redact at once. Afterwards no trace of the erased text is left, in any device's caches.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type MemoryStore, openStore } from '../../src/index.ts'
import { patience } from '../support/patience.ts'
import {
  argumentsOf,
  author,
  type Device,
  newSite,
  reason,
  short,
  type Site,
  whichAreRedacted,
  writeSecrets,
} from '../support/redaction-sites.ts'
import { full, sample, seed } from '../support/seed.ts'
import { git } from '../support/temporary.ts'
import { seededBytes } from '../support/transitions.ts'

const kills = full ? 25 : 1

describe('a process that reads and writes, while another one redacts', () => {
  test.each(sample(['first', 'second'] as const, 2))(
    'on the %s device',
    { tags: 'slow' },
    async (who) => {
      const site = await newSite(full ? 6 : 2, short)
      const worker = startProcess('work', site[who], 'worker', site.secrets)
      const store = await openStore(site.first)
      const dead: string[] = []
      for (const id of site.secrets) {
        const seen = worker.lines('wrote').length
        await expect.poll(() => worker.lines('wrote').length, patience).toBeGreaterThan(seen + 1)
        const select = { versionIds: [id] }
        const { certificate } = await store.as(author).redact({ select, reason })
        dead.push(...(certificate?.object_ids ?? []))
      }
      await expect.poll(() => worker.lines('gone').length, patience).toBe(site.secrets.length)
      await worker.end()
      await store.close()
      await expectErased(site, site.secrets, [worker], dead)
    },
  )
})

test(
  `a redacting process, killed ${kills} times, leaves the old state or the new`,
  { tags: 'slow' },
  async () => {
    const site = await newSite(2, short)
    const random = seededBytes(seed)
    const worker = startProcess('work', site.second, 'worker', site.secrets)
    await expect.poll(() => worker.lines('wrote').length, patience).toBeGreaterThan(0)
    const redacted = new Set<string>()
    // On a busy machine all of a few could be killed before they redact.
    for (let round = 0; round < kills || redacted.size === 0; round += 1) {
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
  },
)

test('two processes that redact at once, while a third one writes', { tags: 'slow' }, async () => {
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
  ['the versions', (store, _, progress) => store.history.versions({}, { progress })],
  [
    'a moment of the past',
    async (store, { secrets }, progress) => {
      return (await store.at({ versionId: secrets[0] ?? '' }, { progress })).list('/')
    },
  ],
  ['a proof of absence', (store, _, progress) => store.maintenance.findResidue({ progress })],
  ['a verification', (store, _, progress) => store.maintenance.verify({ progress, threads: 0 })],
]

describe('another process redacts, and erases, while this one is asked for', () => {
  test.each(sample(questions, 3))('%s', { tags: 'slow' }, async (_, question) => {
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
    expect(await store.history.version(id)).toMatchObject({ path: undefined, content: undefined })
    await store.close()
    await expectErased(site, [id], [], [])
  })

  test(
    'nothing but a memory, after it has read the history: it keeps no copy',
    { tags: 'slow' },
    async () => {
      const site = await newSite(1)
      const store = await openStore(site.second)
      await store.history.versions()
      const redactor = startProcess('redact', site.first, 'redactor', site.secrets)
      await redactor.end()
      expect(await store.read('/filler.md')).toBeDefined()
      await store.close()
      const again = await openStore(site.second)
      expect((await again.maintenance.findResidue()).found).toEqual([])
      await again.close()
      await expectErased(site, site.secrets, [], [])
    },
  )
})

/** The end of every test: no process misses a write, and none finds an erased text. */
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
      const { content, path, redactedAt } = await store.history.version(id)
      expect([content, path, typeof redactedAt]).toEqual([undefined, undefined, 'number'])
    }
    for (const path of workers.flatMap((worker) => worker.lines('wrote'))) {
      expect(await store.read(path), path).toBeDefined()
    }
    expect((await store.maintenance.findResidue({ objectIds })).found).toEqual([])
    await store.maintenance.verify()
    await store.close()
  }
  git(['fsck', '--strict', '--full', '--no-dangling'], first.directory)
}

/** The next process that writes and closes finishes the work that a dead one left. */
async function useOnce(device: Device): Promise<void> {
  const store = await openStore(device)
  await store.as(author).apply([{ type: 'create', path: `/used-${Date.now()}.md`, content: 'x' }])
  await store.close()
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
