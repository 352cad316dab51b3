// The pack exchange of a store that several servers share. Remotes, tracking refs and accepted
// packs are entries of the log, so that a sync on another server continues from there. Refused
// heads and packs that wait to be verified are on this server alone.

import { StoreError } from '../../errors.ts'
import type { DiskExchange, DiskIncoming } from '../disk-store/disk-exchange.ts'
import type {
  Evidence,
  Incoming,
  OutgoingPack,
  PackExchange,
  ReceivedPack,
  ReceiveOptions,
  Remote,
} from '../exchange.ts'
import { LostRace } from '../object-store.ts'
import type { GitObject, Oid, SizeLimit } from '../objects/object.ts'
import { purgedMeanwhile } from '../pack/incoming-pack.ts'
import { unknownRemoteError } from '../refs/remotes.ts'
import { PartSender, sendFile } from './base.ts'
import type { Entry, PacksEntry } from './log-entry.ts'
import type { Replica } from './replica.ts'

/** Attempts to append after lost races; all but the first claim the log before. */
const ATTEMPTS = 4

/** The writer of a replicated store. */
interface LogWriter {
  turn<T>(work: () => Promise<T>): Promise<T>
  append(entry: Entry, repeat: () => Promise<void>): Promise<void>
  exclusive<T>(work: () => Promise<T>): Promise<T>
  newId(): string
}

export class ReplicatedExchange implements PackExchange {
  readonly #replica: Replica
  readonly #writer: LogWriter

  constructor(replica: Replica, writer: LogWriter) {
    this.#replica = replica
    this.#writer = writer
  }

  incoming(): Incoming {
    return new ReplicatedIncoming(this.#replica, this.#writer)
  }

  refused(remote: string): string | undefined {
    const path = this.#own.refused(remote)
    return path && `${this.#replica.repository}/${path}`
  }

  forgetRefused(remote: string): Promise<void> {
    return this.#own.forgetRefused(remote)
  }

  evidence(remote?: string): Evidence {
    return this.#own.evidence(remote)
  }

  pack(oids: Iterable<Oid | undefined>, atReceiver?: Oid): Promise<OutgoingPack> {
    return this.#own.pack(oids, atReceiver)
  }

  tracked(remote: string): Oid | undefined {
    return this.#own.tracked(remote)
  }

  async track(remote: string, next: Oid | undefined): Promise<void> {
    await appending(this.#writer, async () => {
      const isStored = next !== undefined && this.#replica.store.has(next)
      const commit = isStored ? next : undefined
      if (this.tracked(remote) === commit) return
      const entry = { kind: 'ref', name: remote, commit: commit ?? null } as const
      await this.#writer.append(entry, () => this.#own.track(remote, commit))
    })
  }

  shallow(): readonly Oid[] {
    return this.#own.shallow()
  }

  async setShallow(commits: readonly Oid[]): Promise<void> {
    if (commits.length > 0) throw incomplete()
  }

  remotes(): readonly Remote[] {
    return this.#own.remotes()
  }

  async addRemote({ name, url }: Remote): Promise<void> {
    await appending(this.#writer, async () => {
      // Refused by the same rules as in a directory, before any other server learns of it.
      await this.#own.addRemote({ name, url })
      try {
        await this.#writer.append({ kind: 'remote', name, url }, async () => undefined)
      } catch (error) {
        await this.#own.removeRemote(name)
        throw error
      }
    })
  }

  async removeRemote(name: string): Promise<void> {
    await appending(this.#writer, async () => {
      if (!this.remotes().some((remote) => remote.name === name)) throw unknownRemoteError(name)
      const entry = { kind: 'remote', name, url: null } as const
      await this.#writer.append(entry, () => this.#own.removeRemote(name))
    })
  }

  get #own(): DiskExchange {
    return this.#replica.store.exchange
  }
}

class ReplicatedIncoming implements Incoming {
  readonly #replica: Replica
  readonly #writer: LogWriter
  readonly #waiting: DiskIncoming
  /** A redaction since then may have erased what waits here. */
  #overtaken: number

  constructor(replica: Replica, writer: LogWriter) {
    this.#replica = replica
    this.#writer = writer
    this.#waiting = replica.store.exchange.incoming()
    this.#overtaken = replica.overtaken
  }

  get isEmpty(): boolean {
    return this.#waiting.isEmpty
  }

  get bytes(): number {
    return this.#waiting.bytes
  }

  get packDirectories(): readonly string[] | undefined {
    return this.#waiting.packDirectories
  }

  receive(chunks: AsyncIterable<Uint8Array>, options?: ReceiveOptions): Promise<ReceivedPack> {
    this.#check()
    if (options?.boundary !== undefined) throw incomplete()
    return this.#waiting.receive(chunks, options)
  }

  ids(): Iterable<Oid> {
    return this.#waiting.ids()
  }

  read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    this.#check()
    return this.#waiting.read(oid, limit)
  }

  has(oid: Oid): boolean {
    this.#check()
    return this.#waiting.has(oid)
  }

  async accept(): Promise<void> {
    if (this.isEmpty) return
    for (let attempt = 1; ; attempt += 1) {
      const entry = await this.#send()
      try {
        return await appending(this.#writer, async () => {
          this.#check()
          await this.#writer.append(entry, () => this.#waiting.accept())
        })
      } catch (error) {
        await this.#replica.log.removeParts(entry.parts.id).catch(() => undefined)
        // Another server may have removed the parts as those of a server that died.
        if (!(error instanceof LostRace) || attempt === ATTEMPTS) throw error
      }
    }
  }

  async #send(): Promise<PacksEntry> {
    const { log, disk } = this.#replica
    const sender = new PartSender(log, this.#writer.newId())
    const counts: number[] = []
    for (const path of this.#waiting.packFiles()) {
      const before = sender.count
      await sendFile(disk, sender, path)
      counts.push(sender.count - before)
    }
    await sender.finish()
    const { id, count } = sender
    return { kind: 'packs', parts: { id, count }, counts }
  }

  async keep(remote: string, head: Oid): Promise<void> {
    this.#check()
    await this.#waiting.keep(remote, head)
  }

  drop(): void {
    this.#waiting.drop()
  }

  #check(): void {
    if (this.#overtaken === this.#replica.overtaken) return
    this.#waiting.drop()
    throw purgedMeanwhile()
  }
}

function incomplete(): StoreError {
  return new StoreError(
    'incomplete_clone',
    'A store that several servers share must have all of its history',
  )
}

/** Runs work that appends in a turn of its own, again if another server was faster. */
async function appending(writer: LogWriter, work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await writer.turn(work)
    } catch (error) {
      if (!(error instanceof LostRace) || attempt === ATTEMPTS) throw error
    }
  }
}
