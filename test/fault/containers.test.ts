// Processes that share a store and no process ids, as containers with one volume do: a dead one
// blocks no other, a stopped one keeps its lock.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { asciiText } from '../../src/bytes.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import { type Contained, containers, runContained } from '../support/containers.ts'
import { patience } from '../support/patience.ts'
import { full, seed } from '../support/seed.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { seededBytes } from '../support/transitions.ts'

const { missing, note } = containers
const lockProcess = fileURLToPath(new URL('../support/lock-process.mjs', import.meta.url))
const writer = fileURLToPath(new URL('../support/writer-process.mjs', import.meta.url))
const kills = full ? 60 : 2
const tries = full ? 10 : 1

interface Place {
  readonly directory: string
  /** The processes inside the lock, in order. */
  readonly log: string
  /** Lets those who hold it go on. */
  readonly go: string
}

test.skipIf(missing).each([
  ['another number', (dead: Contained) => dead.keepNumber()],
  ['the number that is free again', () => undefined],
])(
  `a container killed while it held the lock blocks none whose namespace has %s${note}`,
  { tags: 'slow' },
  async (_, prepare) => {
    const place = await newPlace()
    const dead = start(place)
    await dead.printed('holding')
    prepare(dead)
    dead.signal('SIGKILL')
    expect(await dead.ended).not.toBe(0)

    writeFileSync(place.go, '')
    const next = start(place)
    // It would not wait: its patience is 0.
    expect(await next.ended, next.lines().join('\n')).toBe(0)
    // Process 1 of its namespace, as it was in the other.
    expect([dead, next].map(({ lines }) => lines()[0]?.slice(0, 6))).toEqual(['1 pid:', '1 pid:'])
    expect(await commitsOf(place)).toEqual([...commits(dead), ...commits(next)])
    expect(commits(dead)).toHaveLength(2)
    expect(commits(next)).toHaveLength(3)
    expect(readdirSync(join(place.directory, 'gitlocket'))).toEqual(['journal-a', 'journal-b'])
  },
)

test.skipIf(missing)(
  `a container that is stopped keeps the lock, and finishes${note}`,
  { tags: 'slow' },
  async () => {
    const place = await newPlace()
    const stopped = start(place)
    await stopped.printed('holding')
    stopped.signal('SIGSTOP')
    writeFileSync(place.go, '')
    for (let attempt = 0; attempt < tries; attempt += 1) {
      const other = start(place)
      expect(await other.ended).toBe(3)
      expect(other.lines()[1]).toContain('a process in another container holds it; wait for it')
    }
    stopped.signal('SIGCONT')
    expect(await stopped.ended).toBe(0)
    const next = start(place)
    expect(await next.ended).toBe(0)
    expect(readFileSync(place.log, 'utf8')).toBe('in\nout\n'.repeat(6))
    expect(await commitsOf(place)).toEqual([...commits(stopped), ...commits(next)])
  },
)

test.skipIf(missing)(
  `a writer in a container, killed ${kills} times under load, loses nothing${note}`,
  { tags: 'slow' },
  async () => {
    const place = await newPlace()
    const random = seededBytes(seed)
    for (let kill = 0; kill < kills; kill += 1) {
      const before = await commitsOf(place)
      const contained = runContained([writer, place.directory, '1000000'])
      await expect.poll(() => contained.lines().length, patience).toBeGreaterThan(0)
      await new Promise((resolve) => setTimeout(resolve, (random(1)[0] ?? 0) / 3))
      contained.signal('SIGKILL')
      await contained.ended
      const acknowledged = contained.lines()
      const added = (await commitsOf(place)).slice(before.length)
      expect(added.slice(0, acknowledged.length)).toEqual(acknowledged)
    }
    const last = runContained([writer, place.directory, '1'])
    expect(await last.ended).toBe(0)
    expect(readdirSync(join(place.directory, 'gitlocket'))).toEqual(['journal-a', 'journal-b'])
  },
)

async function newPlace(): Promise<Place> {
  const root = temporaryDirectory()
  const directory = join(root, 'store')
  await (await createDiskObjectStore({ directory })).close()
  return { directory, log: join(root, 'log'), go: join(root, 'go') }
}

function start({ directory, log, go }: Place): Contained {
  return runContained([lockProcess, directory, log, go])
}

function commits(contained: Contained): readonly string[] {
  return contained.lines().filter((line) => /^[0-9a-f]{40}$/.test(line))
}

/** Oldest first. Takes no lock. */
async function commitsOf({ directory }: Place): Promise<readonly string[]> {
  const store = await openDiskObjectStore({ directory })
  const found: string[] = []
  for (let oid = store.head; oid !== undefined;) {
    found.push(oid)
    const body = store.read(oid)?.body
    if (body === undefined) throw new Error(`the commit ${oid} is missing`)
    oid = /^parent ([0-9a-f]{40})$/m.exec(asciiText(body))?.[1]
  }
  await store.close()
  return found.toReversed()
}
