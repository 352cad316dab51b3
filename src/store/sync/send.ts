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
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { findOutgoing, objectsOf } from '../commits/outgoing.ts'
import { beginningOf, checkNotRewritten, hasMoved } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import type { Head } from '../snapshot/snapshot.ts'
import { type LargePush, planPushSteps, type PushStep, pushStepBytes } from './push-steps.ts'
import type { RemoteState } from './remote-state.ts'
import { nothingSent, type Sent } from './report.ts'

export interface SendOptions extends WorkOptions {
  /** Sends all objects, even those that the remote should have. */
  readonly repair?: boolean | undefined
  /** A push of more bytes goes in steps. */
  readonly stepBytes?: number | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
  /** Called before the first byte of a pack goes out. */
  readonly willSend?: (() => void) | undefined
}

interface LargePushPlan {
  readonly steps: readonly PushStep[]
  /** How often the history had been rewritten before it was read. */
  readonly rewrites: number
  /** About as many bytes as all steps together have. */
  readonly bytes: number
}

export class Sender {
  readonly #session: StoreSession
  readonly #access: RemoteAccess
  readonly #remote: RemoteState
  readonly #options: SendOptions
  /** By all pushes that arrived. */
  #sent: Sent = nothingSent

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
    if (head.commit === expected && this.#options.repair !== true) return this.#sent
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
    // Before the pack is made, which takes longest.
    connection.expect(expected)
    const { rewrites } = this.#session
    const there = await this.#commitsThere(expected)
    const atReceiver = takesThin(connection) ? there[0] : undefined
    const { pack, commits } = await this.#packFor(head, there, atReceiver)
    const { bytes } = pack
    let steps: readonly PushStep[]
    try {
      steps = await this.#divide({ head: head.commit, expected, there, bytes })
      if (steps.length < 2) {
        const { transfer: progress, willSend } = this.#options
        willSend?.()
        await connection.push({ expected, next: head.commit, pack, progress })
      }
    } finally {
      pack.close()
    }
    if (steps.length > 1) return this.#sendSteps(connection, expected, { steps, rewrites, bytes })
    const { commit: oid, height, record } = head
    await this.#remote.note({ oid, height, record })
    return this.#count(commits, bytes)
  }

  /** A repair sends everything at once: the remote may be ahead of any step. */
  async #divide(push: LargePush): Promise<readonly PushStep[]> {
    const { stepBytes = pushStepBytes, repair, signal } = this.#options
    if (push.bytes <= stepBytes || repair === true) return []
    return planPushSteps(this.#session, push, { stepBytes, signal })
  }

  /** Each step has a connection of its own, of which `first` is the one for the first. */
  async #sendSteps(
    first: PushConnection,
    expected: Oid | undefined,
    { steps, rewrites, bytes: bytesAbout }: LargePushPlan,
  ): Promise<Sent> {
    const bytesBefore = this.#sent.bytes
    let at = expected
    for (const [index, step] of steps.entries()) {
      await checkNotRewritten(this.#session, rewrites)
      if (index > 0) this.#remote.begin()
      const connection = index === 0 ? first : await connectPush(this.#access)
      const isLast = index === steps.length - 1
      const before = this.#sent.bytes - bytesBefore
      const progress = ({ phase, done, total = 0 }: TransferProgress): void => {
        const all = isLast ? before + total : Math.max(before + total, bytesAbout)
        this.#options.transfer?.({ phase, done: before + done, total: all })
      }
      try {
        at = await this.#sendStep(connection, at, step, progress)
      } finally {
        await connection.close()
      }
    }
    return this.#sent
  }

  /** The new head of the remote. */
  async #sendStep(
    connection: PushConnection,
    expected: Oid | undefined,
    step: PushStep,
    progress: (progress: TransferProgress) => void,
  ): Promise<Oid | undefined> {
    const last = step.at(-1)
    if (last === undefined) return expected
    const { objects, storeId, epochs } = this.#session
    const there = expected === undefined ? [] : [expected]
    const atReceiver = takesThin(connection) ? expected : undefined
    const { oid, height } = last
    const { hash } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
    const pack = await objects.exchange.pack(objectsOf(objects, step, there), atReceiver)
    try {
      this.#options.willSend?.()
      await connection.push({ expected, next: oid, pack, progress })
    } finally {
      pack.close()
    }
    await this.#remote.note({ oid, height, record: hash })
    this.#count(step.length, pack.bytes)
    return oid
  }

  #count(commits: number, bytes: number): Sent {
    this.#sent = { commits: this.#sent.commits + commits, bytes: this.#sent.bytes + bytes }
    return this.#sent
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

function takesThin({ refs }: PushConnection): boolean {
  return !refs.capabilities.has('no-thin')
}
