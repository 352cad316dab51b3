// A process that does one task on a store and prints what it took, so that its processor time and
// its memory are its own and its caches as cold as a user's. `runTask` starts it.

import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { argv } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { joinStore, type MemoryStore, openStore, parseIdentity } from 'gitlocket'
import { run } from './machine.ts'

export type Task =
  /** Opens the store and reads one memory. */
  | { readonly type: 'read'; readonly path: string }
  /** Joins the store at the address and reads one memory. */
  | { readonly type: 'join'; readonly address: string; readonly path: string }
  | { readonly type: 'sync' }
  /** The history of one memory: the first question, or one that follows. */
  | { readonly type: 'versions'; readonly memoryId: string; readonly isWarm: boolean }
  /** Redacts one version; `done` is the number of erased objects. */
  | { readonly type: 'redact'; readonly versionId: string }
  | { readonly type: 'rollback'; readonly commit: string }
  | { readonly type: 'verify' }

/** A closed store and the key to it. */
export interface Clone {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
}

interface Request extends Clone {
  readonly task: Task
}

/** Milliseconds, bytes. */
export interface Answer {
  /** The call alone, without opening the store. */
  readonly work: number
  /** Of the processor, from the start of the process to the end of the call. */
  readonly processor: number
  readonly memory: number
  /** The longest time in which nothing else in the process could run. */
  readonly longestHold: number
  readonly done: number
}

export function runTask(clone: Clone, task: Task): Answer {
  const request: Request = { ...clone, task }
  const args = [fileURLToPath(import.meta.url), JSON.stringify(request)]
  const output = run(process.execPath, args, { cwd: dirname(clone.directory) })
  const taken: Answer = JSON.parse(output.toString())
  return taken
}

const author = { actor: { type: 'user', id: 'bench' } } as const
const access = { environment: { PATH: process.env['PATH'] } }

async function answer({ identityFile, task, ...places }: Request): Promise<Answer> {
  const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
  const at = { ...places, identity }
  const store = task.type === 'join' ? undefined : await openStore(at)
  if (store !== undefined && loadsHistory(task)) await store.history.versions({ limit: 1 })
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  // Without a tick before and after, the first and the last delay would not be seen.
  await sleep(2)
  const start = performance.now()
  const joined = task.type === 'join' ? await join(at, task.address) : store
  if (joined === undefined) throw new Error('Nothing was opened')
  const done = await doTask(joined, task)
  const work = performance.now() - start
  const { user, system } = process.cpuUsage()
  await sleep(2)
  delays.disable()
  const longestHold = delays.max / 1e6
  await joined.close()
  return { work, processor: (user + system) / 1000, memory: peakMemory(), longestHold, done }
}

/** Tasks that are measured on a history already in RAM. */
function loadsHistory(task: Task): boolean {
  const isWarm = task.type === 'versions' && task.isWarm
  return isWarm || task.type === 'redact' || task.type === 'rollback'
}

function join(at: Parameters<typeof openStore>[0], url: string): Promise<MemoryStore> {
  return joinStore({ ...at, url, author, access })
}

async function doTask(store: MemoryStore, task: Task): Promise<number> {
  const me = store.as(author)
  switch (task.type) {
    case 'sync':
      return (await me.sync({ access })).outcomes.length
    case 'versions':
      return (await store.history.versions({ memoryId: task.memoryId })).data.length
    case 'redact': {
      const select = { versionIds: [task.versionId] }
      const { certificate } = await me.redact({ select, reason: 'leaked_secret' })
      return certificate?.object_ids.length ?? 0
    }
    case 'rollback':
      return (await me.rollback({ to: { commit: task.commit } })).steps.length
    case 'verify':
      return (await store.maintenance.verify()).commits
    case 'read':
    case 'join':
    default:
      return (await store.read(task.path))?.content.length ?? 0
  }
}

/** getrusage begins with the memory of the parent process; Linux knows the peak of this one. */
function peakMemory(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024
  const status = readFileSync('/proc/self/status', 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  console.log(JSON.stringify(await answer(JSON.parse(argv[2] ?? '{}'))))
}
