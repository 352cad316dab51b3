// The audit export of a host: the events of all its stores, each at least once, next to running
// servers. Opens only stores whose head has moved, reads only the new part of their trails, and
// waits while its reader is slower. The reader continues after any line, by its cursor.

import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError } from '../errors.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { checkNotCancelled, TimeSlice } from '../time-slice.ts'
import { AuditCursors, type EventPosition, type StoreProgress } from './audit-cursors.ts'
import { type AuditEvent, type EventPlace, eventsOf } from './audit-events.ts'
import { Catalogue } from './catalogue.ts'
import type { HostBackend, HostNotice } from './host-backend.ts'
import { StorePool } from './store-pool.ts'

export interface AuditExportOptions {
  /** Outside of the stores: for the files that cursors need. */
  readonly stateDirectory: string
  /** The cursor of the last line that is known; undefined: from the beginning. */
  readonly since: string | undefined
  /** Waits for new events until the signal, in place of ending. */
  readonly follow: boolean
  readonly signal: AbortSignal
  /** Takes an event and the cursor after it, and resolves when it wants the next one. */
  readonly write: (event: AuditEvent, cursor: string) => Promise<void>
  /** Told of each store that could not be read: once, until that changes. */
  readonly notice: (notice: HostNotice) => void
}

/** Few: most stores are read once and then rest. */
const OPEN_MAX = 32
const LOOK_MS = 1000
/** Of the time, at most this part is spent on looking for heads that have moved. */
const LOOK_SHARE = 0.1
/** After which a store that could not be read is tried again. */
const RETRY_MS = 30_000

/**
 * Resolves to the ids of the stores that could not be read. Throws `not_found` without a host,
 * `invalid_input` for the cursor, `cancelled`, and as opening a server does. Closes the backend.
 */
export async function exportAudit(
  backend: HostBackend,
  options: AuditExportOptions,
): Promise<readonly string[]> {
  let parts: ExportParts | undefined
  try {
    parts = await openParts(backend, options)
    return await new AuditExport(parts, options).run()
  } finally {
    parts?.cursors.close()
    await parts?.pool.close()
    await backend.close()
  }
}

type ExportParts = Awaited<ReturnType<typeof openParts>>

async function openParts(backend: HostBackend, options: AuditExportOptions) {
  await untilHost(backend, options)
  const catalogue = await Catalogue.open(backend, options.notice, false)
  const [first] = await catalogue.workspaces()
  // The id of a workspace is random, and remains if the host moves.
  const directory = `${options.stateDirectory}/audit/${first?.workspaceId}`
  const cursors = AuditCursors.open(backend.owner, directory, options.since)
  const open = (storeId: string): Promise<MemoryStore> => backend.openStore(storeId)
  return { backend, catalogue, cursors, pool: new StorePool({ open, maxOpen: OPEN_MAX }) }
}

/** With `follow`, it may start before the first server. Throws `not_found`. */
async function untilHost(
  backend: HostBackend,
  { follow, signal }: AuditExportOptions,
): Promise<void> {
  while ((await backend.contents()) !== 'host') {
    if (!follow) throw new StoreError('not_found', 'There is no data of a server')
    await pauseMs(LOOK_MS, signal)
  }
}

/** Throws `cancelled`. */
async function pauseMs(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => checkNotCancelled(signal))
}

interface Failure {
  readonly head: string | undefined
  readonly error: unknown
  readonly at: number
}

/** A store that is read, and the position of the last line. */
interface StoreReading {
  readonly place: EventPlace
  position: EventPosition | undefined
}

class AuditExport {
  readonly #parts: ExportParts
  readonly #options: AuditExportOptions
  readonly #failures: Map<string, Failure> = new Map()
  readonly #slice = new TimeSlice()

  constructor(parts: ExportParts, options: AuditExportOptions) {
    this.#parts = parts
    this.#options = options
  }

  async run(): Promise<readonly string[]> {
    const { follow, signal } = this.#options
    for (;;) {
      const began = performance.now()
      const heads = await this.#parts.backend.heads()
      const tookMs = performance.now() - began
      await this.#exportNew(heads)
      if (!follow) return [...this.#failures.keys()]
      await pauseMs(Math.max(LOOK_MS, tookMs / LOOK_SHARE), signal)
    }
  }

  async #exportNew(heads: ReadonlyMap<string, string>): Promise<void> {
    const { progress } = this.#parts.cursors
    for (const storeId of new Set([...progress.keys(), ...heads.keys()])) {
      checkNotCancelled(this.#options.signal)
      const head = heads.get(storeId)
      const isRead = head !== undefined && progress.get(storeId)?.head === head
      if (isRead || this.#isFailed(storeId, head)) continue
      try {
        await this.#exportStore(storeId, head)
        this.#failures.delete(storeId)
      } catch (error) {
        await this.#fail(storeId, head, error)
      }
    }
  }

  async #exportStore(storeId: string, head: string | undefined): Promise<void> {
    const { catalogue, cursors, pool } = this.#parts
    const hosted = await catalogue.find(storeId)
    const before = cursors.progress.get(storeId)
    // Not listed yet, if it is being made.
    if (hosted === undefined) return before && this.#tellDeleted(storeId, before)
    const place = { storeId, workspaceId: hosted.workspaceId }
    const reading: StoreReading = { place, position: before?.position }
    let seen: string | undefined
    try {
      await pool.use(storeId, (store) => this.#exportEvents(store, reading))
      seen = head
    } finally {
      // Also after a failure: another attempt repeats nothing.
      const { position } = reading
      await cursors.note(storeId, { workspaceId: place.workspaceId, position, head: seen })
    }
  }

  async #exportEvents(store: MemoryStore, reading: StoreReading): Promise<void> {
    const { signal } = this.#options
    const { place } = reading
    for await (const step of store.maintenance.auditSince(reading.position, { signal })) {
      if (step === 'replaced') {
        if (reading.position !== undefined) await this.#tellReplaced(place, reading.position)
        reading.position = undefined
        continue
      }
      const { entry, isPosition } = step
      const told = entry.record === reading.position?.record ? reading.position.events : 0
      for (const [index, event] of eventsOf(entry, place).entries()) {
        if (index < told) continue
        const { height, record } = entry
        const position = isPosition ? { height, record, events: index + 1 } : reading.position
        await this.#write(event, position)
        reading.position = position
      }
    }
  }

  async #tellReplaced(place: EventPlace, { record }: EventPosition): Promise<void> {
    const activity = 'history_replaced'
    const event = { id: `${record}-replaced`, time: this.#now, activity, ...place } as const
    await this.#write(event, undefined)
  }

  async #tellDeleted(storeId: string, { workspaceId }: StoreProgress): Promise<void> {
    const { cursors } = this.#parts
    const activity = 'store_deleted'
    const place = { storeId, workspaceId }
    const event = { id: `${storeId}-deleted`, time: this.#now, activity, ...place } as const
    await cursors.note(storeId, undefined)
    await this.#write(event, undefined)
  }

  get #now(): number {
    return this.#parts.backend.clock()
  }

  async #write(event: AuditEvent, position: EventPosition | undefined): Promise<void> {
    checkNotCancelled(this.#options.signal)
    await this.#options.write(event, await this.#parts.cursors.at(event.storeId, position))
    // A fast reader lets no other work run.
    if (this.#slice.isOver()) await this.#slice.next()
  }

  #isFailed(storeId: string, head: string | undefined): boolean {
    const failure = this.#failures.get(storeId)
    return failure?.head === head && failure !== undefined && this.#age(failure) < RETRY_MS
  }

  #age({ at }: Failure): number {
    return performance.now() - at
  }

  /** A store fails alone. */
  async #fail(storeId: string, head: string | undefined, error: unknown): Promise<void> {
    if (!(error instanceof StoreError) || error.code === 'cancelled') throw error
    const { catalogue } = this.#parts
    // Deleted in the meantime: the next look tells so.
    if ((await catalogue.find(storeId)) === undefined) return
    const before = this.#failures.get(storeId)?.error
    const isKnown = before instanceof StoreError && before.code === error.code
    if (!isKnown) this.#options.notice({ about: storeId, error })
    this.#failures.set(storeId, { head, error, at: performance.now() })
  }
}
