// How long the redaction of a version takes over HTTP, and how long the clients of other stores
// wait meanwhile. They send at fixed times, whether or not they were answered: else a stall would
// be seen once only.

import { type Client, textOf } from '../../load/client.ts'
import { inParallel } from '../../load/load.ts'
import { rest } from '../../load/server-process.ts'
import { httpUpdater, type Update } from '../../load/updates.ts'
import {
  fillStore,
  fillStores,
  type HostedMemory,
  type HostedStore,
  newHosted,
  readMemory,
  serving,
} from '../hosted.ts'
import type { Section, Table } from '../report.ts'
import { timed } from '../rounds.ts'
import type { RunContext } from '../run-context.ts'
import { digits, milliseconds, summarize } from '../statistics.ts'
import { noteText, seededChoice } from '../workload.ts'

const everyMs = 5
const quietMs = 2_000
const otherStores = 8
const memoriesEach = 32
/** Memories of a store whose versions are redacted; they share its versions. */
const redactedMemories = 50

/** Milliseconds. */
interface Waits {
  readonly reads: number[]
  readonly updates: number[]
}

interface Redacted {
  readonly versions: number
  readonly times: number[]
  readonly waits: Waits
}

export async function measureRedactions(context: RunContext): Promise<Section> {
  const { redactions } = context.scale.server
  const hosted = await newHosted(context, 'server-redaction')
  return serving(hosted, async () => {
    const others = await Others.create(hosted.client)
    await others.during(() => rest(quietMs))
    const quiet: Waits = { reads: [], updates: [] }
    const done: Redacted[] = []
    for (const { versions, times } of redactions) {
      context.log(`redactions in a store of ${digits(versions)} versions`)
      const store = await storeOfVersions(hosted.client, versions)
      const redacted: Redacted = { versions, times: [], waits: { reads: [], updates: [] } }
      for (const { path, firstVersionId } of store.memories.slice(0, times)) {
        await others.during(() => rest(quietMs), quiet)
        const request = `${path.replace(/\/memories\/.*/, '')}/memory_versions/${firstVersionId}`
        const redact = async () =>
          textOf(await hosted.client.ask('POST', `${request}/redact`), 'redacted_at')
        await others.during(async () => {
          redacted.times.push(await timed(redact))
        }, redacted.waits)
      }
      done.push(redacted)
    }
    return { bounds: [], tables: [table(quiet, done)] }
  })
}

/** One commit for each version; many at once share the syncs of the disk. */
async function storeOfVersions(client: Client, versions: number): Promise<HostedStore> {
  const store = await fillStore(client, `${versions} versions`, redactedMemories)
  const choose = seededChoice(`${versions} versions`)
  const more = versions / redactedMemories - 1
  await inParallel(redactedMemories, store.memories, async ({ path }) => {
    for (let n = 0; n < more; n += 1) {
      const content = `${n}\n${noteText(choose)}`
      textOf(await client.ask('POST', path, { content }), 'id')
    }
  })
  return store
}

/** The clients of other stores. */
class Others {
  readonly #client: Client
  readonly #memories: readonly HostedMemory[]
  readonly #updates: readonly Update[]
  /** By memory: an update that is sent waits for the one before it, and its time counts. */
  readonly #last = new Map<Update, Promise<void>>()
  #sent = 0

  private constructor(
    client: Client,
    memories: readonly HostedMemory[],
    updates: readonly Update[],
  ) {
    this.#client = client
    this.#memories = memories
    this.#updates = updates
  }

  static async create(client: Client): Promise<Others> {
    const stores = await fillStores(client, otherStores, memoriesEach)
    const updates: Update[] = []
    for (let n = 0; n < otherStores; n += 1) {
      const { begin } = await httpUpdater(client)
      for (let m = 0; m < memoriesEach; m += 1) updates.push(await begin(`${n} ${m}`))
    }
    return new Others(
      client,
      stores.flatMap(({ memories }) => memories),
      updates,
    )
  }

  /** Sends while `work` runs, and resolves when all is answered. */
  async during(
    work: () => Promise<void>,
    waits: Waits = { reads: [], updates: [] },
  ): Promise<void> {
    const over = new AbortController()
    const working = work().finally(() => over.abort())
    const answers: Promise<void>[] = []
    for (let next = performance.now(); !over.signal.aborted; next += everyMs) {
      answers.push(this.#send(waits))
      await rest(next + everyMs - performance.now())
    }
    await Promise.all([working, ...answers])
  }

  /** A read and an update by turns. A stride without a common factor reaches all stores. */
  async #send({ reads, updates }: Waits): Promise<void> {
    const number = Math.floor(this.#sent / 2) * 33
    const isRead = this.#sent % 2 === 0
    this.#sent += 1
    const memory = this.#memories[number % this.#memories.length]
    const update = this.#updates[number % this.#updates.length]
    if (memory === undefined || update === undefined) throw new Error('There are no other stores')
    if (isRead) reads.push(await timed(() => readMemory(this.#client, memory)))
    else updates.push(await timed(() => this.#update(update)))
  }

  #update(update: Update): Promise<void> {
    const before = this.#last.get(update) ?? Promise.resolve()
    const updating = before.then(update)
    this.#last.set(update, updating)
    return updating
  }
}

function table(quiet: Waits, done: readonly Redacted[]): Table {
  return {
    title: 'The server: redaction of one version while other stores answer',
    columns: ['', 'median', 'p99', 'longest', 'n'],
    rows: [
      rowOf('a read of another store, without a redaction', quiet.reads),
      rowOf('a guarded update of another store, without', quiet.updates),
      ...done.flatMap(({ versions, times, waits }) => [
        rowOf(`${digits(versions)} versions: the redaction`, times),
        rowOf('… a read of another store during it', waits.reads),
        rowOf('… a guarded update of another store during it', waits.updates),
      ]),
    ],
    notes: [
      `A store with one commit for each version, of ${redactedMemories} memories; the version is ` +
        'among the first, so that nearly the whole history is rewritten. The redaction is one ' +
        `request. Every ${everyMs} ms a request is sent to one of ${2 * otherStores} other ` +
        'stores, a read and a guarded update by turns, whether or not those before it were ' +
        `answered; without a redaction for ${digits(quietMs / 1000)} s before each. All in one ` +
        'process, and the processors are shared by server and clients.',
    ],
  }
}

function rowOf(what: string, samples: readonly number[]): readonly string[] {
  const { median, p99, n } = summarize(samples)
  return [what, ...[median, p99, Math.max(...samples)].map(milliseconds), digits(n)]
}
