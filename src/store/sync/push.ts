// The push of a sync: sends the commits that a remote lacks, with an explicit lease. A large push
// is divided into steps, so that a failed connection loses one step at most; each step ends at a
// head that every reader accepts as it is (FORMAT §8.1). A failed push changes nothing here.

import { hasCode, StoreError } from '../../errors.ts'
import type { OutgoingPack } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import { connectPush, startsAmong } from '../../transport/push.ts'
import type {
  PushConnection,
  RefChange,
  RefusedRef,
  TransferProgress,
} from '../../transport/remote-access.ts'
import { decodeAt } from '../access/post-revocation.ts'
import { findOutgoing, objectsOf, type OutgoingCommit } from '../commits/outgoing.ts'
import { beginningOf, checkNotRewritten, hasMoved } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import type { Head } from '../snapshot/snapshot.ts'
import { accessOf, type Peer } from './remote-state.ts'
import { nothingSent, type Sent } from './report.ts'

interface LargePushPlan {
  readonly steps: readonly PushStep[]
  /** How often the history had been rewritten before it was read. */
  readonly rewrites: number
  /** About as many bytes as all steps together have. */
  readonly bytes: number
  /** Since when the first connection exists. */
  readonly mark: number
}

/** Our head, which stock git can read, since the tracking ref will name it. */
interface PackedHead extends Head {
  readonly mark: number
}

interface StepToSend {
  readonly step: PushStep
  readonly mark: number
  readonly progress: (progress: TransferProgress) => void
}

export class Sender {
  readonly #peer: Peer
  /** By all pushes that arrived. */
  #sent: Sent = nothingSent
  /** For the push that is prepared. */
  #ready: PushConnection | undefined

  constructor(peer: Peer) {
    this.#peer = peer
  }

  /**
   * Sends new commits without a fetch if the remote has not moved since it was last seen: one
   * connection instead of two. Undefined, with nothing sent, if it has moved, has all commits or
   * refuses the push.
   */
  async sendWithoutFetch(): Promise<Sent | undefined> {
    if (this.#peer.options.repair === true) return undefined
    const beginning = beginningOf(this.#peer.session)
    try {
      return await this.#sendToSeen()
    } catch (error) {
      if (await hasMoved(this.#peer.session, beginning, error)) return undefined
      throw error
    }
  }

  async #sendToSeen(): Promise<Sent | undefined> {
    const expected = (await this.#peer.known.seenHere())?.oid
    if (expected === undefined || expected === (await this.#head()).commit) return undefined
    const connection = await this.#tryConnect()
    try {
      if (connection?.refs.head !== expected) return undefined
      return await this.#sendOver(connection, expected, await this.#packedHead())
    } finally {
      await connection?.close()
    }
  }

  /**
   * Connects for the push that follows. Throws `remote_moved` if the remote has left this head, so
   * that no merge is made in vain.
   */
  async prepare(head: Oid): Promise<void> {
    this.#ready = await this.#tryConnect()
    this.#ready?.expect(head)
  }

  /** Closes the connection of a push that was prepared and not sent. */
  async release(): Promise<void> {
    const ready = this.#ready
    this.#ready = undefined
    await ready?.close()
  }

  /** Moves the remote from `expected` to our head. Throws `remote_moved` if it is elsewhere. */
  async send(expected: Oid | undefined): Promise<Sent> {
    const head = await this.#packedHead()
    if (head.commit === expected && this.#peer.options.repair !== true) return this.#sent
    const connection = this.#ready ?? (await connectPush(accessOf(this.#peer)))
    this.#ready = undefined
    try {
      return await this.#sendOver(connection, expected, head)
    } finally {
      await connection.close()
    }
  }

  /** Undefined for a remote that denies pushes: its head can still be adopted. */
  async #tryConnect(): Promise<PushConnection | undefined> {
    try {
      return await connectPush(accessOf(this.#peer))
    } catch (error) {
      if (hasCode(error, 'remote_auth', 'remote_not_found')) return undefined
      throw error
    }
  }

  async #packedHead(): Promise<PackedHead> {
    const mark = await this.#peer.known.mark()
    await this.#peer.session.checkpoint()
    return { ...(await this.#head()), mark }
  }

  #head(): Promise<Head> {
    return this.#peer.session.reading(({ head }) => head)
  }

  async #sendOver(
    connection: PushConnection,
    expected: Oid | undefined,
    head: PackedHead,
  ): Promise<Sent> {
    // Before the pack is made, which takes longest.
    connection.expect(expected)
    const { rewrites } = this.#peer.session
    const there = await this.#commitsThere(expected)
    const atReceiver = takesThin(connection) ? there[0] : undefined
    const { pack, commits } = await this.#packFor(head, there, atReceiver)
    const { bytes } = pack
    let steps: readonly PushStep[]
    try {
      steps = await this.#divide({ head: head.commit, expected, there, bytes })
      if (steps.length < 2) {
        const { transfer: progress, willSend } = this.#peer.options
        willSend?.()
        const others = this.#outdatedStarts(connection, commits)
        const request = { expected, next: head.commit, pack, progress, others }
        this.#noteDeleted(connection, others, await connection.push(request))
      }
    } finally {
      pack.close()
    }
    const { commit: oid, height, record, mark } = head
    if (steps.length > 1) {
      return this.#sendSteps(connection, expected, { steps, rewrites, bytes, mark })
    }
    await this.#peer.known.note({ oid, height, record }, mark)
    return this.#count(commits.length, bytes)
  }

  /** With a redaction all starts are deleted: they describe what it erases (FORMAT §13). */
  #outdatedStarts(
    { refs }: PushConnection,
    commits: readonly OutgoingCommit[],
  ): readonly RefChange[] {
    const starts = startsAmong(refs.named)
    if (starts.length === 0) return []
    const { session } = this.#peer
    const redacts = commits.some(({ oid }) => decodeAt(session, oid).record.kind === 'redact')
    return redacts ? starts : []
  }

  #noteDeleted(
    { refs }: PushConnection,
    others: readonly RefChange[],
    refused: readonly RefusedRef[],
  ): void {
    const kept = new Set(refused.map(({ name }) => name))
    const deleted = new Set(others.flatMap(({ name }) => (kept.has(name) ? [] : [name])))
    const named = new Map([...refs.named].filter(([name]) => !deleted.has(name)))
    this.#peer.known.shows({ named, ignored: refs.ignored })
  }

  /** A repair sends everything at once: the remote may be ahead of any step. */
  async #divide(push: LargePush): Promise<readonly PushStep[]> {
    const { stepBytes = pushStepBytes, repair, signal } = this.#peer.options
    if (push.bytes <= stepBytes || repair === true) return []
    return planPushSteps(this.#peer.session, push, { stepBytes, signal })
  }

  /** Each step has a connection of its own, of which `first` is the one for the first. */
  async #sendSteps(
    first: PushConnection,
    expected: Oid | undefined,
    { steps, rewrites, bytes: bytesAbout, mark: begun }: LargePushPlan,
  ): Promise<Sent> {
    const bytesBefore = this.#sent.bytes
    let at = expected
    for (const [index, step] of steps.entries()) {
      await checkNotRewritten(this.#peer.session, rewrites)
      const mark = index === 0 ? begun : await this.#peer.known.mark()
      const connection = index === 0 ? first : await connectPush(accessOf(this.#peer))
      const isLast = index === steps.length - 1
      const before = this.#sent.bytes - bytesBefore
      const progress = ({ phase, done, total = 0 }: TransferProgress): void => {
        const all = isLast ? before + total : Math.max(before + total, bytesAbout)
        this.#peer.options.transfer?.({ phase, done: before + done, total: all })
      }
      try {
        at = await this.#sendStep(connection, at, { step, mark, progress })
      } catch (error) {
        throw this.#withSent(error)
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
    { step, mark, progress }: StepToSend,
  ): Promise<Oid | undefined> {
    const last = step.at(-1)
    if (last === undefined) return expected
    const { session } = this.#peer
    const { objects } = session
    const there = expected === undefined ? [] : [expected]
    const atReceiver = takesThin(connection) ? expected : undefined
    const { oid, height } = last
    const pack = await objects.exchange.pack(objectsOf(objects, step, there), atReceiver)
    try {
      this.#peer.options.willSend?.()
      const others = this.#outdatedStarts(connection, step)
      const request = { expected, next: oid, pack, progress, others }
      this.#noteDeleted(connection, others, await connection.push(request))
    } finally {
      pack.close()
    }
    await this.#peer.known.note({ oid, height, record: decodeAt(session, oid).hash }, mark)
    this.#count(step.length, pack.bytes)
    return oid
  }

  /** A failure of a later step, which tells what the earlier ones have sent. */
  #withSent(error: unknown): unknown {
    const { commits } = this.#sent
    if (!(error instanceof StoreError) || commits === 0) return error
    const details = { ...error.details, sentCommits: commits }
    return new StoreError(error.code, error.message, { cause: error, details })
  }

  #count(commits: number, bytes: number): Sent {
    this.#sent = { commits: this.#sent.commits + commits, bytes: this.#sent.bytes + bytes }
    return this.#sent
  }

  async #packFor(
    head: Head,
    there: readonly Oid[],
    atReceiver: Oid | undefined,
  ): Promise<{ readonly pack: OutgoingPack; readonly commits: readonly OutgoingCommit[] }> {
    const { objects } = this.#peer.session
    const { exchange } = objects
    const commits = await findOutgoing(objects, head.commit, there)
    const pack = await exchange.pack(objectsOf(objects, commits, there), atReceiver)
    return { pack, commits }
  }

  async #commitsThere(expected: Oid | undefined): Promise<readonly Oid[]> {
    if (expected === undefined || this.#peer.options.repair === true) return []
    return this.#peer.known.commitsBehind(expected, this.#peer.options)
  }
}

function takesThin({ refs }: PushConnection): boolean {
  return !refs.capabilities.has('no-thin')
}

/** A push of more than this is sent in steps of about this size. */
const pushStepBytes: number = 32 * MEBIBYTE

/** Commits, each after its parents. The last one is then the head of the remote. */
type PushStep = readonly OutgoingCommit[]

interface LargePush {
  readonly head: Oid
  /** The head of the remote, if it has one. A redaction may have erased it here. */
  readonly expected: Oid | undefined
  /** Commits of ours that the remote has with all that is behind them. */
  readonly there: readonly Oid[]
  /** Size of a pack of all that is sent. */
  readonly bytes: number
}

/** A single step where the history leaves no choice. */
async function planPushSteps(
  session: StoreSession,
  { head, expected, there, bytes }: LargePush,
  { stepBytes, signal }: { readonly stepBytes: number; readonly signal: AbortSignal | undefined },
): Promise<readonly PushStep[]> {
  const commits = await findOutgoing(session.objects, head, there)
  const ends = await inSlices(findEnds(session, commits, expected), signal)
  if (ends.size === 0) return [commits]
  const sizes = await inSlices(sizesOf(session, commits, there), signal)
  // Trees are far smaller in a pack: these sizes only say how the pack divides.
  const total = sizes.reduce((sum, size) => sum + size, 0)
  return divide(sizes, ends, (stepBytes * total) / bytes).map(([from, to]) => {
    return commits.slice(from, to)
  })
}

/**
 * The positions of the commits that may be the head of the remote for a while: all commits before
 * such a commit are in its past, and all after it descend from it, so that its author had it as the
 * head once. None has a redaction after it: what that erased is absent in the past already, which
 * without the record of it is `detail_missing`. None if the history was rewritten since `expected`.
 */
function* findEnds(
  session: StoreSession,
  commits: readonly OutgoingCommit[],
  expected: Oid | undefined,
): Generator<undefined, ReadonlySet<number>> {
  const ends = new Set<number>()
  const isBuiltUpon = ({ parents }: OutgoingCommit): boolean =>
    expected === undefined || parents.includes(expected)
  if (!commits.some(isBuiltUpon)) return ends
  const positions = new Map(commits.map(({ oid }, position) => [oid, position]))
  /** The parents of all commits after the current one. */
  let oldestParent = commits.length
  for (let position = commits.length - 1; position > 0; position -= 1) {
    const commit = commits[position]
    if (commit === undefined || decodeAt(session, commit.oid).record.kind === 'redact') return ends
    for (const parent of commit.parents) {
      oldestParent = Math.min(oldestParent, positions.get(parent) ?? -1)
    }
    if (oldestParent === position - 1) ends.add(position - 1)
    yield
  }
  return ends
}

/** How many bytes each commit brings, with its objects. */
function* sizesOf(
  { objects }: StoreSession,
  commits: readonly OutgoingCommit[],
  known: readonly Oid[],
): Generator<undefined, readonly number[]> {
  const sizes: number[] = []
  let size = 0
  for (const oid of objectsOf(objects, commits, known)) {
    yield
    if (oid === undefined) continue
    size += objects.read(oid)?.body.length ?? 0
    if (oid !== commits[sizes.length]?.oid) continue
    sizes.push(size)
    size = 0
  }
  return sizes
}

/** As few ranges as these ends allow, none of more than `sizeMax` unless it cannot be divided. */
function divide(
  sizes: readonly number[],
  ends: ReadonlySet<number>,
  sizeMax: number,
): readonly (readonly [from: number, to: number])[] {
  const ranges: (readonly [number, number])[] = []
  let from = 0
  let size = 0
  let end = { to: 0, size: 0 }
  for (const [position, more] of sizes.entries()) {
    size += more
    if (size > sizeMax && end.to > from) {
      ranges.push([from, end.to])
      from = end.to
      size -= end.size
    }
    if (ends.has(position)) end = { to: position + 1, size }
  }
  return [...ranges, [from, sizes.length]]
}
