// A process that syncs a store with its remote, or joins one, and prints its time and memory.
// Forked, it keeps the store open, and changes and syncs it on request. Started by clones.ts.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  joinStore,
  type MemoryStore,
  openStore,
  parseIdentity,
  type RemoteOptions,
  type TransferProgress,
} from 'gitlocket'
import { watchLoop } from './loop-delay.ts'
import { peakMemory } from './peak-memory.ts'

/** Given as JSON in the only argument. */
export interface SyncRequest {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
  readonly access: RemoteOptions
  /** If absent, an existing store is synced with its only remote. */
  readonly join?: string
}

/** One call. Milliseconds, bytes. */
export interface SyncCall {
  readonly work: number
  /** Until all objects are here and checked, until the first bytes go out, and after. */
  readonly phases: { readonly fetch: number; readonly reconcile: number; readonly push: number }
  /** Bytes of the packs. */
  readonly received: number
  readonly sent: number
  /** The branch of the store afterwards. */
  readonly head: string
  /** Memories that a merge had to decide about. */
  readonly outcomes: number
  /** The peak memory of the process so far. */
  readonly rssMax: number
}

/** Printed as JSON: the only call of a process. */
export interface SyncAnswer extends SyncCall {
  /** From the beginning of the process until the store is closed. */
  readonly whole: number
  /** The longest time in which nothing else in the process could run during the call. */
  readonly longestDelay: number
}

/** A request to a process that stays. It answers a change with nothing, a sync with a call. */
export type SyncCommand =
  | { readonly type: 'change'; readonly path: string; readonly line: string }
  | { readonly type: 'sync' }

const author = { actor: { type: 'user', id: 'bench' } } as const

async function answer(request: SyncRequest): Promise<SyncAnswer> {
  const stopwatch = new Stopwatch()
  const { result, longest: longestDelay } = await watchLoop(async () => {
    const synced = await syncOrJoin(request, stopwatch)
    return { ...synced, measured: stopwatch.stop() }
  })
  const { store, outcomes, measured } = result
  await store.close()
  const whole = performance.now()
  // The store itself would read its whole history for its status.
  const head = readFileSync(join(request.directory, 'refs/heads/main'), 'latin1').trim()
  return { ...measured, whole, head, outcomes, rssMax: peakMemory(), longestDelay }
}

/** The bench made the remote a moment ago. */
const trustFirstContact = () => Promise.resolve(true)

async function syncOrJoin(
  request: SyncRequest,
  stopwatch: Stopwatch,
): Promise<{ readonly store: MemoryStore; readonly outcomes: number }> {
  const { access, join: url } = request
  const transfer = stopwatch.transfer
  const places = await placesOf(request)
  if (url !== undefined) {
    stopwatch.start()
    const store = await joinStore({ ...places, url, author, access, transfer, trustFirstContact })
    return { store, outcomes: 0 }
  }
  const store = await openStore(places)
  stopwatch.start()
  const { outcomes } = await store.as(author).sync({ access, transfer })
  return { store, outcomes: outcomes.length }
}

/** Until the parent hangs up. */
async function serve(request: SyncRequest): Promise<void> {
  const store = await openStore(await placesOf(request))
  process.on('disconnect', () => void store.close())
  process.on('message', (command: SyncCommand) => {
    void obey(store, request, command).then((call) => process.send?.(call ?? {}))
  })
}

async function obey(
  store: MemoryStore,
  { access }: SyncRequest,
  command: SyncCommand,
): Promise<SyncCall | undefined> {
  if (command.type === 'change') {
    const { path, line } = command
    const edit = (content: string) => content.replace(/^.*/, line)
    await store.as(author).apply([{ type: 'edit', path: `/${path}`, edit }])
    return undefined
  }
  const stopwatch = new Stopwatch()
  stopwatch.start()
  const { head, outcomes } = await store.as(author).sync({ access, transfer: stopwatch.transfer })
  return { ...stopwatch.stop(), head, outcomes: outcomes.length, rssMax: peakMemory() }
}

async function placesOf({ directory, stateDirectory, identityFile }: SyncRequest) {
  return {
    directory,
    stateDirectory,
    identity: await parseIdentity(readFileSync(identityFile, 'utf8')),
  }
}

/** Splits a call into its parts by its transfer progress. */
class Stopwatch {
  #started = 0
  #fetched = 0
  #sending: number | undefined
  #received = 0
  #sent = 0

  start(): void {
    this.#started = performance.now()
    this.#fetched = this.#started
  }

  readonly transfer = ({ phase, done }: TransferProgress): void => {
    const now = performance.now()
    if (phase === 'sending') {
      this.#sending ??= now
      this.#sent = done
    } else {
      this.#fetched = now
      if (phase === 'receiving') this.#received = done
    }
  }

  stop(): Pick<SyncCall, 'work' | 'phases' | 'received' | 'sent'> {
    const now = performance.now()
    const sending = this.#sending ?? now
    const phases = {
      fetch: this.#fetched - this.#started,
      reconcile: sending - this.#fetched,
      push: now - sending,
    }
    return { work: now - this.#started, phases, received: this.#received, sent: this.#sent }
  }
}

const request: SyncRequest = JSON.parse(process.argv[2] ?? '{}')
if (process.send === undefined) console.log(JSON.stringify(await answer(request)))
else await serve(request)
