// Syncs during all other work: two clones of one remote, each used by several handles at once, of
// one process or of several. Whatever runs at the same time, the only refusal is that of a push
// alone that another clone has overtaken; nothing acknowledged is lost, and the clones end with one
// head.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { formatIdentity } from '../../src/index.ts'
import {
  bareRemote,
  checkWithGit,
  type Clone,
  firstClone,
  headOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../support/clones.ts'
import { runSteps, type Say } from '../support/concurrent-steps.mjs'
import { full, seed } from '../support/seed.ts'
import { author, contentsOf, reopen, type TestPlace } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { seededBytes } from '../support/transitions.ts'

const program = fileURLToPath(new URL('../support/concurrent-steps.mjs', import.meta.url))
const rounds = full ? 25 : 1
const stepsOfOne = full ? 24 : 2
const watchMs = 50

/** The choices; one that is listed twice is twice as likely. */
const kinds = [
  'write',
  'batch',
  'batch',
  'edit',
  'restore',
  'redact',
  'sync',
  'sync',
  'sync',
  'pull',
  'push',
  'compact',
  'checkpoint',
  'status',
  'versions',
]

/** The clone that it works on, and a name of its own. */
interface Worker {
  readonly clone: Clone
  readonly name: string
  readonly steps: readonly string[]
}

type Said = readonly string[]

async function twoClones(): Promise<{
  readonly remote: string
  readonly clones: readonly Clone[]
}> {
  const remote = bareRemote()
  const first = await firstClone(remote)
  await put(first, '/shared.md', 'shared\n')
  await sync(first)
  return { remote, clones: [first, await joinClone(first, remote)] }
}

/** Two of each clone. */
function workersOf(clones: readonly Clone[], random: (length: number) => Uint8Array): Worker[] {
  return clones.flatMap((clone, which) =>
    ['x', 'y'].map((letter): Worker => {
      const steps = [...random(stepsOfOne)].map((byte) => kinds[byte % kinds.length] ?? '')
      return { clone, name: `${which}${letter}`, steps: ['batch', 'sync', ...steps] }
    }),
  )
}

/** In one process, two handles of a clone on the same files; and syncs as those of a watch. */
async function runHere(workers: readonly Worker[]): Promise<readonly Said[]> {
  const said: Said[] = []
  const say: Say = (...words) => said.push(words)
  const others: TestPlace[] = []
  const work = workers.map(async ({ clone, name, steps }) => {
    // The first handle of a clone is the one that is open.
    const isOther = others.includes(clone.place)
    others.push(clone.place)
    const store = isOther ? await reopen(clone.place) : clone.store
    await runSteps(store, name, steps, say)
    if (isOther) await store.close()
  })
  const over = new AbortController()
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const turn = workers[0]?.clone.store.as(author).sync()
      await turn?.catch((error: Error) => say('refused', 'watch', error.message, error.stack ?? ''))
      await new Promise((resolve) => setTimeout(resolve, watchMs))
    }
  }
  const watching = watch()
  await Promise.all(work)
  over.abort()
  await watching
  return said
}

async function runApart({ clone, name, steps }: Worker): Promise<readonly Said[]> {
  const { directory, stateDirectory, identity } = clone.place
  const file = `${temporaryDirectory()}/identity`
  writeFileSync(file, formatIdentity(identity), { mode: 0o600 })
  const args = [program, directory, stateDirectory, file, name, JSON.stringify(steps)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, errors] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  await once(child, 'close')
  expect(errors).toBe('')
  expect(child.exitCode).toBe(0)
  return output.split('\n').flatMap((line): Said[] => (line === '' ? [] : [JSON.parse(line)]))
}

/** Closes the clones. */
async function expectWhole(
  remote: string,
  clones: readonly Clone[],
  said: readonly Said[],
): Promise<void> {
  const paths = (word: string) =>
    said.flatMap(([what, path]) => (what === word ? (path ?? '') : []))
  const refused = said.filter(([what]) => what === 'refused')
  // Documented: what the remote has more is not for a push alone to take over.
  const isExplained = ([, step, code]: Said) => step === 'push' && code === 'remote_moved'
  expect(refused.filter((one) => !isExplained(one))).toEqual([])
  await syncAll(clones)
  const [first, ...others] = await Promise.all(clones.map(headOf))
  for (const other of others) expect(other).toBe(first)
  for (const { store } of clones) {
    const contents = await contentsOf(store)
    for (const path of paths('wrote')) expect(contents, path).toHaveProperty([path])
    for (const path of paths('redacted')) expect(contents).not.toHaveProperty([path])
    await store.maintenance.verify()
    await store.close()
  }
  for (const directory of [remote, ...clones.map(({ place }) => place.directory)]) {
    checkWithGit(directory)
  }
}

test.each(Array.from({ length: rounds }, (_, round) => round))(
  'during writes, syncs, redactions and upkeep of the same process (%i)',
  { tags: 'slow' },
  async (round) => {
    const { remote, clones } = await twoClones()
    const said = await runHere(workersOf(clones, seededBytes(seed * 1000 + round)))
    await expectWhole(remote, clones, said)
  },
)

test.each(Array.from({ length: rounds }, (_, round) => round))(
  'during writes, syncs, redactions and upkeep of other processes (%i)',
  { tags: 'slow' },
  async (round) => {
    const { remote, clones } = await twoClones()
    for (const { store } of clones) await store.close()
    const workers = workersOf(clones, seededBytes(seed * 2000 + round))
    const said = (await Promise.all(workers.map(runApart))).flat()
    const again = await Promise.all(
      clones.map(async ({ place }) => ({ place, store: await reopen(place) })),
    )
    await expectWhole(remote, again, said)
  },
)
