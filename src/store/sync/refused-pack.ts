// Keeps the pack of a refused head for investigation, as the remote has sent it: at most 64 MiB,
// and nothing that is redacted here. Nothing in it is verified, and its sender needs no key, so the
// search is bounded, and yields after each object. Must not read more than the pack itself.

import { hasCode, StoreError } from '../../errors.ts'
import { mayHaveDetail } from '../../format/commit-sections.ts'
import type { Incoming, Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import { decodeCommit, openDetail } from '../commits/decoded-commit.ts'
import type { History, HistorySource } from '../history/history.ts'
import { ResidueSearch } from '../redaction/residue.ts'
import type { StoreSession } from '../session/session.ts'

/** At most this much is kept for each remote. */
export const KEPT_BYTES_MAX: number = 64 * MEBIBYTE
/** A pack whose search opens more objects than this is not kept. */
const OPENED_MAX = 20_000
/** A pack with more bytes than this in its objects is not kept. */
const READ_BYTES_MAX = 64 * MEBIBYTE

/** The ids of the versions of our own history that are redacted. */
export type Redacted = ReadonlySet<string>

/** A head that verification has refused, and what was fetched for it. */
interface RefusedHead {
  readonly remote: Remote
  readonly head: Oid
  readonly incoming: Incoming
}

/**
 * Keeps the pack of a refused head if it may be kept. Returns the verdict, which says so if size or
 * the disk is the reason that nothing is kept.
 */
export async function keepRefusedPack(
  session: StoreSession,
  history: History,
  { remote, head, incoming }: RefusedHead,
  verdict: StoreError,
  signal: AbortSignal | undefined,
): Promise<StoreError> {
  try {
    const redacted = await session.reading((now) => new Set(now.redacted))
    await forgetErased(session, history, remote, redacted, signal)
    if (hasCode(verdict, 'object_missing', 'object_corrupt', 'redaction_undone')) return verdict
    if (incoming.bytes > KEPT_BYTES_MAX) return notKeptError(verdict, tooLarge)
    const { storeId, epochs } = session
    const source = { objects: incoming, storeId, epochs }
    const search = holdsErased(source, history, redacted, incoming.ids())
    if (await inSlices(search, signal)) return verdict
    await session.writing(async () => {
      // Versions redacted after the search began, also by another process, were not searched for.
      const isSame = [...session.snapshot.redacted].every((id) => redacted.has(id))
      if (isSame) await incoming.keep(remote.name, head)
      return { built: undefined, result: undefined }
    }, true)
    return verdict
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return notKeptError(verdict, `what was refused is not kept: ${error.message}`)
  }
}

const tooLarge = 'what was refused is larger than 64 MiB, and nothing of it is kept'

/** Removes a pack kept earlier if a redaction was made without this device, as in a backup. */
async function forgetErased(
  { objects: { exchange }, storeId, epochs }: StoreSession,
  history: History,
  { name }: Remote,
  redacted: Redacted,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (redacted.size === 0) return
  const evidence = exchange.evidence(name)
  try {
    const source = { objects: evidence, storeId, epochs }
    const search = holdsErased(source, history, redacted, evidence.ids())
    if (await inSlices(search, signal)) await exchange.forgetRefused(name)
  } finally {
    evidence.close()
  }
}

/** Whether some of these objects are redacted here, or cannot be searched for that. */
export function* holdsErased(
  source: HistorySource,
  history: History,
  redacted: Redacted,
  oids: Iterable<Oid>,
): Generator<undefined, boolean> {
  if (redacted.size === 0) return false
  const search = new ResidueSearch(source, history, redacted)
  let opened = 0
  let bytesLeft = READ_BYTES_MAX
  try {
    for (const oid of oids) {
      yield
      const object = bytesLeft > 0 ? source.objects.read(oid) : undefined
      // Beyond the limit, or of a kind that cannot be searched.
      if (object === undefined) return true
      const { type, body } = object
      bytesLeft -= body.length
      opened += type === 'blob' ? 1 + search.cost : 1
      if (opened > OPENED_MAX) return true
      if (type === 'commit' && hasUnreadableDetail(source, oid, body)) return true
      if (search.look(oid, object).length > 0) return true
    }
    return false
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    // A damaged object cannot be searched.
    return true
  }
}

/** Whether a commit has a sealed detail that does not open, which may be of an erased row. */
function hasUnreadableDetail(
  { storeId, epochs }: HistorySource,
  oid: Oid,
  bytes: Uint8Array,
): boolean {
  if (!mayHaveDetail(bytes)) return false
  try {
    openDetail(decodeCommit(storeId, epochs, oid, bytes))
    return false
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return true
  }
}

function notKeptError(verdict: StoreError, problem: string): StoreError {
  const { code, message, details } = verdict
  return new StoreError(code, `${message}; ${problem}`, { cause: verdict, details })
}
