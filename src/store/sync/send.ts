// The push half of a sync: sends the commits that a remote lacks, with an explicit lease. Must not
// read commits of others from the remote; a failed push changes nothing here.

import type { WorkOptions } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import type { OutgoingPack } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { connectPush } from '../../transport/push.ts'
import type {
  PushConnection,
  RemoteAccess,
  TransferProgress,
} from '../../transport/remote-access.ts'
import { beginningOf, hasMoved } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import type { Head } from '../snapshot/snapshot.ts'
import { findOutgoing, objectsOf } from './outgoing.ts'
import type { RemoteState } from './remote-state.ts'
import { nothingSent, type Sent } from './report.ts'

export interface SendOptions extends WorkOptions {
  /** Sends all objects, even those that the remote should have. */
  readonly repair?: boolean | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

export class Sender {
  readonly #session: StoreSession
  readonly #access: RemoteAccess
  readonly #remote: RemoteState
  readonly #options: SendOptions

  constructor(
    session: StoreSession,
    access: RemoteAccess,
    remote: RemoteState,
    options: SendOptions,
  ) {
    this.#session = session
    this.#access = access
    this.#remote = remote
    this.#options = options
  }

  /**
   * Sends new commits without a fetch if the remote has not moved since it was last seen: one
   * connection instead of two. Undefined, with nothing sent, if it has moved, has all commits or
   * refuses the push.
   */
  async sendWithoutFetch(): Promise<Sent | undefined> {
    if (this.#options.repair === true) return undefined
    const beginning = beginningOf(this.#session)
    try {
      return await this.#sendToSeen()
    } catch (error) {
      if (await hasMoved(this.#session, beginning, error)) return undefined
      throw error
    }
  }

  async #sendToSeen(): Promise<Sent | undefined> {
    const expected = (await this.#remote.seenHere())?.oid
    if (expected === undefined || expected === (await this.#head()).commit) return undefined
    const connection = await this.#tryConnect()
    try {
      if (connection?.refs.head !== expected) return undefined
      return await this.#sendOver(connection, expected, await this.#packedHead())
    } finally {
      await connection?.close()
    }
  }

  /** Moves the remote from `expected` to our head. Throws `remote_moved` if it is elsewhere. */
  async send(expected: Oid | undefined): Promise<Sent> {
    const head = await this.#packedHead()
    if (head.commit === expected && this.#options.repair !== true) return nothingSent
    const connection = await connectPush(this.#access)
    try {
      return await this.#sendOver(connection, expected, head)
    } finally {
      await connection.close()
    }
  }

  /** Undefined for a remote that denies pushes: its head can still be taken over. */
  async #tryConnect(): Promise<PushConnection | undefined> {
    try {
      return await connectPush(this.#access)
    } catch (error) {
      if (hasCode(error, 'remote_auth', 'remote_not_found')) return undefined
      throw error
    }
  }

  /** A head that stock git can read too, since the tracking ref will lead to it. */
  async #packedHead(): Promise<Head> {
    this.#remote.begin()
    await this.#session.checkpoint()
    return this.#head()
  }

  #head(): Promise<Head> {
    return this.#session.reading(({ head }) => head)
  }

  async #sendOver(
    connection: PushConnection,
    expected: Oid | undefined,
    head: Head,
  ): Promise<Sent> {
    const { transfer: progress } = this.#options
    const there = await this.#commitsThere(expected)
    const takesThin = !connection.refs.capabilities.has('no-thin')
    const { pack, commits } = await this.#packFor(head, there, takesThin ? there[0] : undefined)
    try {
      await connection.push({ expected, next: head.commit, pack, progress })
    } finally {
      pack.close()
    }
    const { commit: oid, height, record } = head
    await this.#remote.note({ oid, height, record })
    return { commits, bytes: pack.bytes }
  }

  async #packFor(
    head: Head,
    there: readonly Oid[],
    atReceiver: Oid | undefined,
  ): Promise<{ readonly pack: OutgoingPack; readonly commits: number }> {
    const { objects } = this.#session
    const { exchange } = objects
    if (there.length === 0) {
      const pack = await exchange.packWhole(head.commit, this.#options.signal)
      if (pack !== undefined) return { pack, commits: pack.commits }
    }
    const commits = await findOutgoing(objects, head.commit, there)
    const pack = await exchange.pack(objectsOf(objects, commits, there), atReceiver)
    return { pack, commits: commits.length }
  }

  async #commitsThere(expected: Oid | undefined): Promise<readonly Oid[]> {
    if (expected === undefined || this.#options.repair === true) return []
    return this.#remote.commitsBehind(expected, this.#options)
  }
}
