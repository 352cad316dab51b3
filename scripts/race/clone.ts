// A process of the race: a clone that writes a memory and syncs, again and again, as an agent in a
// sandbox does. Started by main.ts.

import { readFileSync } from 'node:fs'
import { argv } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { type MemoryStore, openDefaultStore, openStore, parseIdentity, StoreError } from 'gitlocket'

/** Given as JSON in the only argument. */
export interface CloneTask {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
  readonly name: string
  /** The variables of a sandbox, which opens the store of its grant instead. */
  readonly granted?: Readonly<Record<string, string>> | undefined
  /** Each turn writes one memory. */
  readonly turns: number
  readonly everyMs: number
  /** The first turn of this clone comes this long after the others may begin. */
  readonly delayMs: number
}

export type Message =
  | { readonly type: 'open' }
  /** How long a sync took, and the code of its failure. */
  | { readonly type: 'synced'; readonly ms: number; readonly code: string | undefined }

const author = { actor: { type: 'session', id: 'race' } } as const
/** As the syncs of `gitlocket mcp`, which no user waits for. */
const patient: object = { patient: true }

async function race(task: CloneTask): Promise<void> {
  const store = await open(task)
  process.on('disconnect', () => process.exit(1))
  const begun = new Promise((resolve) => process.once('message', resolve))
  send({ type: 'open' })
  await begun
  const start = performance.now() + task.delayMs
  for (let turn = 0; turn < task.turns; turn += 1) {
    await sleep(Math.max(0, start + turn * task.everyMs - performance.now()))
    const path = `/${task.name}/${turn}.md`
    await store.as(author).apply([{ type: 'create', path, content: `${path}\n` }])
    await sync(store)
  }
  await store.close()
  process.exit(0)
}

async function open(task: CloneTask): Promise<MemoryStore> {
  const { granted, identityFile, directory, stateDirectory } = task
  if (granted !== undefined) return openDefaultStore(granted)
  const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
  return openStore({ directory, stateDirectory, identity })
}

async function sync(store: MemoryStore): Promise<void> {
  const began = performance.now()
  let code: string | undefined
  try {
    await store.as(author).sync({ remote: 'origin', ...patient })
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    ;({ code } = error)
  }
  send({ type: 'synced', ms: performance.now() - began, code })
}

function send(message: Message): void {
  process.send?.(message)
}

await race(JSON.parse(argv[2] ?? '{}'))
