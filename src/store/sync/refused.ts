// Heads of a remote that are refused: which errors are a verdict on the history that it shows, and
// which of those `--repair` may answer by putting ours in its place. Decides; sync.ts acts.

import { asciiText } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'
import { treeOf } from '../../format/commit-sections.ts'
import { decodeTree } from '../../git/object.ts'
import type { GitObject, Oid } from '../../git/object.ts'
import { Search } from '../absence.ts'
import { decodeCommit, openDetail, readCommitBytes } from '../decoded-commit.ts'
import type { ObjectSource } from '../git-reads.ts'
import type { History, HistorySource } from '../history.ts'

const failuresOfRemote: readonly ErrorCode[] = [
  'remote_unreachable',
  'remote_timeout',
  'remote_auth',
  'remote_untrusted',
  'remote_not_found',
  'remote_protocol',
  'remote_moved',
  'pack_refused',
]

/** What stands in the way on this machine, or on the way to the other. */
const circumstances: readonly ErrorCode[] = [
  'cancelled',
  'store_closed',
  'upgrade_required',
  'out_of_memory',
  'locked',
  'storage_full',
  'storage_denied',
  'storage_failed',
  'ref_conflict',
  'pack_corrupt',
  'journal_corrupt',
  ...failuresOfRemote,
]

/** Whether the remote did not hand over what it was asked for. */
export function isFailureOfRemote(error: unknown): boolean {
  return hasCode(error, ...failuresOfRemote)
}

/** Whether verifying a head has ended with a verdict on it. */
export function isVerdict(error: unknown): error is StoreError {
  return error instanceof StoreError && !hasCode(error, ...circumstances)
}

/**
 * Not where the owners may have removed this device: it cannot tell that from a keyring that nobody
 * can open, and must not take their history from the others.
 */
export function isReplaceable(verdict: StoreError): boolean {
  return !hasCode(verdict, 'wrong_key')
}

/** As far as this is looked for; a head that leads further counts as one that does. */
const STEPS_MAX = 20_000

/**
 * Whether a refused head leads to versions that are redacted here, or may: a ref to it would make
 * them reachable again. Judges what it alone leads to, as the search for residues does.
 */
export function leadsToErased(
  source: HistorySource,
  history: History,
  head: Oid,
  redacted: ReadonlySet<string>,
): boolean {
  if (redacted.size === 0) return false
  try {
    return new Walk(source, history, redacted).findsErased(head)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    // What is not whole, or no git object, is not looked into.
    return true
  }
}

class Walk {
  readonly #source: HistorySource
  readonly #search: Search
  /** Commits here, and all that the newest one has in its tree: none holds what is redacted. */
  readonly #clean: Set<Oid>

  constructor(source: HistorySource, history: History, redacted: ReadonlySet<string>) {
    this.#source = source
    this.#search = new Search(source, history, redacted)
    this.#clean = new Set()
    const newest = history.commits.at(-1)
    if (newest !== undefined) {
      this.#clean = this.#reachable(treeOf(readCommitBytes(source.objects, newest.oid)), Infinity)
    }
    for (const { oid } of history.commits) this.#clean.add(oid)
  }

  findsErased(head: Oid): boolean {
    let steps = 0
    for (const oid of this.#reachable(head, STEPS_MAX)) {
      const object = getObject(this.#source.objects, oid)
      steps += object.type === 'blob' ? 1 + this.#search.cost : 1
      if (steps > STEPS_MAX) return true
      if (this.#search.look(oid).length > 0 || this.#isSecretive(oid, object)) return true
    }
    return false
  }

  /** All that an object leads to, itself too, but for what is clean. */
  #reachable(from: Oid, most: number): Set<Oid> {
    const reached = new Set([from])
    for (const oid of reached) {
      if (reached.size > most) return reached
      const links = linksOf(getObject(this.#source.objects, oid))
      for (const link of links) if (!this.#clean.has(link)) reached.add(link)
    }
    return reached
  }

  /** A commit of which nobody can tell whether its sealed detail is of an erased row. */
  #isSecretive(oid: Oid, { type, body }: GitObject): boolean {
    if (type !== 'commit' || !asciiText(body).includes('-----BEGIN GITLOCKET DETAIL')) return false
    const { storeId, epochs } = this.#source
    try {
      openDetail(storeId, decodeCommit(storeId, epochs, oid, body))
      return false
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      return true
    }
  }
}

/** As git itself reads them: nobody has verified the object. */
function linksOf({ type, body }: GitObject): readonly Oid[] {
  if (type === 'tree') return decodeTree(body).map(({ oid }) => oid)
  if (type === 'blob') return []
  const [header = ''] = asciiText(body).split('\n\n', 1)
  return [...header.matchAll(/^(?:tree|parent) ([0-9a-f]{40})$/gm)].flatMap(([, oid]) => oid ?? [])
}

function getObject(objects: ObjectSource, oid: Oid): GitObject {
  const object = objects.read(oid)
  if (object === undefined) throw new StoreError('object_missing', `The object ${oid} is missing`)
  return object
}
