// Real processes on one store: together, and killed at random moments.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { asciiText } from '../../src/bytes.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { full, seed } from '../support/seed.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { seededBytes } from '../support/transitions.ts'

const writer = fileURLToPath(new URL('../support/writer-process.mjs', import.meta.url))
const kills = full ? 100 : 6

test('two processes of two hundred writes each keep four hundred', { tags: 'slow' }, async () => {
  const directory = await newStore()
  const children = [startWriter(directory, 200), startWriter(directory, 200)]
  const codes = await Promise.all(children.map(({ ended }) => ended))
  expect(codes).toEqual([0, 0])

  const store = await openDiskObjectStore({ directory })
  const history = commitsOf(store)
  expect(history).toHaveLength(400)
  expect(new Set(history)).toEqual(new Set(children.flatMap(({ acknowledged }) => acknowledged())))
  await store.close()
  expect(readdirSync(join(directory, 'gitlocket')).toSorted()).toEqual(['journal-a', 'journal-b'])
  expect(git(['rev-list', '--count', 'main'], directory).trim()).toBe('400')
  git(['fsck', '--strict', '--no-dangling'], directory)
})

test(
  `a writer killed ${kills} times loses nothing that it acknowledged`,
  { tags: 'slow' },
  async () => {
    const directory = await newStore()
    const random = seededBytes(seed)
    let head: string | undefined
    for (let kill = 0; kill < kills; kill += 1) {
      const child = startWriter(directory, 1_000_000)
      await child.started
      await new Promise((resolve) => setTimeout(resolve, (random(1)[0] ?? 0) / 3))
      child.process.kill('SIGKILL')
      await child.ended

      const store = await openDiskObjectStore({ directory })
      const acknowledged = child.acknowledged()
      const added = commitsOf(store, head)
      expect(added.slice(0, acknowledged.length)).toEqual(acknowledged)
      // At most the one that was under way may have come on top.
      expect(added.length - acknowledged.length).toBeLessThanOrEqual(1)
      head = store.head
      await store.close()
    }
    const last = startWriter(directory, 1)
    expect(await last.ended).toBe(0)
    expect(readdirSync(join(directory, 'gitlocket')).toSorted()).toEqual(['journal-a', 'journal-b'])
    expect(readdirSync(join(directory, 'refs/heads'))).toEqual(['main'])
    git(['fsck', '--strict', '--no-dangling'], directory)
  },
)

interface Writer {
  readonly process: ChildProcess
  /** Resolves with the first acknowledged commit. */
  readonly started: Promise<unknown>
  /** Resolves to the exit code; null if it was killed. */
  readonly ended: Promise<number | null>
  readonly acknowledged: () => string[]
}

function startWriter(directory: string, count: number): Writer {
  const child = spawn(process.execPath, [writer, directory, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  return {
    process: child,
    started: once(child.stdout, 'data'),
    ended: once(child, 'close').then(() => child.exitCode),
    acknowledged: () => output.split('\n').slice(0, -1),
  }
}

async function newStore(): Promise<string> {
  const directory = temporaryDirectory()
  await (await createDiskObjectStore({ directory })).close()
  return directory
}

/** The commits after `base`, oldest first. */
function commitsOf(store: ObjectStore, base?: string): string[] {
  const commits: string[] = []
  for (let oid = store.head; oid !== base;) {
    if (oid === undefined) throw new Error('the history does not contain the commit before')
    commits.push(oid)
    const body = store.read(oid)?.body
    if (body === undefined) throw new Error(`the commit ${oid} is missing`)
    oid = /^parent ([0-9a-f]{40})$/m.exec(asciiText(body))?.[1]
  }
  return commits.toReversed()
}
