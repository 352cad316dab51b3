// A process that opens a store, does one task, closes the store, and prints time and memory.
// Started by task.ts.

import { readFileSync, writeFileSync } from 'node:fs'
import { type MemoryStore, type OpenOptions, openStore, parseIdentity } from 'gitlocket'
import { watchLoop } from './loop-delay.ts'
import { peakMemory } from './peak-memory.ts'

export type Task =
  /** The first question about a memory's history, loading the history included. */
  | { readonly type: 'versions'; readonly memoryId: string }
  /** Redacts one version; the object ids of the certificate go to a file, one a line. */
  | { readonly type: 'redact'; readonly versionId: string; readonly objectsFile: string }
  | { readonly type: 'rollback'; readonly commit: string }
  | { readonly type: 'undo'; readonly session: string }
  | { readonly type: 'verify'; readonly threads?: number }
  | { readonly type: 'compact' }
  /** Opens and closes the store once more. */
  | { readonly type: 'open' }
  | { readonly type: 'search'; readonly query: string }
  /** So many new memories, one commit each, packed as they come and at the end. */
  | { readonly type: 'create'; readonly memories: number }

/** Given as JSON in the only argument. */
export interface TaskRequest {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
  readonly task: Task
}

/** Printed as JSON. Milliseconds, bytes. */
export interface TaskAnswer {
  /** The call alone. */
  readonly work: number
  /** From the beginning of the process until the store is closed. */
  readonly whole: number
  /** Commits that were verified, objects that were erased, memories that were moved … */
  readonly done: number
  /** Memories that a revert left alone. */
  readonly left: number
  readonly rssMax: number
  /** The longest time in which nothing else in the process could run during the call. */
  readonly longestDelay: number
}

/** Commands that wait together. */
const atOnce = 128
const author = { actor: { type: 'user', id: 'bench' } } as const

type Outcome = Pick<TaskAnswer, 'done' | 'left'> & {
  /** Writes down the result, which is not measured. */
  readonly report?: () => void
}

async function answer({ identityFile, task, ...places }: TaskRequest): Promise<TaskAnswer> {
  const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
  const store = await openStore({ ...places, identity })
  if (needsHistory(task)) await store.history.versions({ limit: 1 })
  const { result, longest: longestDelay } = await watchLoop(async () => {
    const start = performance.now()
    const outcome = await doTask(store, task, { ...places, identity })
    return { ...outcome, work: performance.now() - start }
  })
  const { done, left, report, work } = result
  await store.close()
  const whole = performance.now()
  const rssMax = peakMemory()
  report?.()
  return { work, whole, done, left, rssMax, longestDelay }
}

/** Tasks that are measured on a history already in RAM. */
function needsHistory({ type }: Task): boolean {
  return type === 'redact' || type === 'rollback' || type === 'undo'
}

async function doTask(store: MemoryStore, task: Task, places: OpenOptions): Promise<Outcome> {
  switch (task.type) {
    case 'versions': {
      const { data: versions } = await store.history.versions({ memoryId: task.memoryId })
      return { done: versions.length, left: 0 }
    }
    case 'redact':
      return redact(store, task.versionId, task.objectsFile)
    case 'rollback': {
      const { steps, left } = await store.as(author).rollback({ to: { commit: task.commit } })
      return { done: steps.length, left: left.length }
    }
    case 'undo': {
      const { steps, left } = await store.as(author).undo({ session: task.session })
      return { done: steps.length, left: left.length }
    }
    case 'verify': {
      const { commits } = await store.maintenance.verify({ threads: task.threads })
      return { done: commits, left: 0 }
    }
    case 'compact':
      await store.maintenance.compact()
      return { done: 1, left: 0 }
    case 'open':
      await (await openStore(places)).close()
      return { done: 1, left: 0 }
    case 'search': {
      const { data: hits } = await store.search({ query: task.query })
      return { done: hits.length, left: 0 }
    }
    case 'create':
      return create(store, task.memories)
    default:
      throw new TypeError('There is no such task')
  }
}

async function create(store: MemoryStore, memories: number): Promise<Outcome> {
  const me = store.as(author)
  for (let done = 0; done < memories; done += atOnce) {
    const count = Math.min(atOnce, memories - done)
    const paths = Array.from({ length: count }, (_, n) => `/created/${done}/${n}.md`)
    await Promise.all(paths.map((path) => me.write(path, path.repeat(40))))
  }
  await store.maintenance.checkpoint()
  return { done: memories, left: 0 }
}

async function redact(
  store: MemoryStore,
  versionId: string,
  objectsFile: string,
): Promise<Outcome> {
  const request = { select: { versionIds: [versionId] }, reason: 'leaked_secret' } as const
  const { certificate } = await store.as(author).redact(request)
  const objects = certificate?.object_ids ?? []
  const report = () => writeFileSync(objectsFile, objects.map((oid) => `${oid}\n`).join(''))
  return { done: objects.length, left: 0, report }
}

const request: TaskRequest = JSON.parse(process.argv[2] ?? '{}')
console.log(JSON.stringify(await answer(request)))
