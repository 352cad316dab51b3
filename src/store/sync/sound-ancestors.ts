// What is sound below a head that is refused: a repair takes that over before it puts ours in place
// of the head, or it would take from the others what they have pushed. Finds; take-over.ts acts.

import { pause, type WorkOptions } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import { findLinks, type Oid } from '../../git/objects/object.ts'
import { findKeyring } from '../access/authority.ts'
import { type Epochs, readCommitBytes, verifyDecodedCommit } from '../commits/decoded-commit.ts'
import type { History } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import { isVerdict } from './rejected-head.ts'
import { epochsOf, type RemoteHead, verifyRemoteHead } from './remote-head.ts'

/** So many commits are tried that a member may have made: each may cost to verify many. */
const TRIED_MAX = 64

/**
 * The newest ancestors of a refused head that verify and are news here; none is below another one.
 * Throws the verdict on the head again where more than may be tried are refused as well.
 */
export async function findSound(
  session: StoreSession,
  history: History,
  { head, verdict }: { readonly head: Oid; readonly verdict: StoreError },
  options: WorkOptions,
): Promise<readonly RemoteHead[]> {
  const news = new News(session.objects, history, head)
  const members = new Members(session)
  const [sound, passed] = [new Map<Oid, RemoteHead>(), new Set([head])]
  let tried = 0
  for (const oid of news.commits) {
    await pause(options.signal)
    if (passed.has(oid) || !(await members.hasMade(oid))) continue
    tried += 1
    if (tried > TRIED_MAX) throw tooManyError(verdict)
    try {
      sound.set(oid, await verifyRemoteHead(session, history, oid, options))
      for (const below of news.pastOf(oid)) passed.add(below)
    } catch (error) {
      if (!isVerdict(error)) throw error
      for (const above of news.spoiledBy(error)) passed.add(above)
    }
  }
  const below = new Set([...sound.keys()].flatMap((oid) => news.pastOf(oid)))
  return [...sound].filter(([oid]) => !below.has(oid)).map(([, theirs]) => theirs)
}

/** Which commits a member may have made: nobody without a key of the store can make one. */
class Members {
  readonly #session: StoreSession
  /**
   * By keyring. To find out that one does not open takes a third of a second at worst, once for
   * each: whoever wants it to take long has to send as much.
   */
  readonly #epochs: Map<Oid, Promise<Epochs>> = new Map()

  constructor(session: StoreSession) {
    this.#session = session
  }

  async hasMade(oid: Oid): Promise<boolean> {
    const { storeId, objects } = this.#session
    try {
      const epochs = await this.#epochsOf(oid)
      verifyDecodedCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
      return true
    } catch (error) {
      if (!isVerdict(error)) throw error
      return false
    }
  }

  #epochsOf(oid: Oid): Promise<Epochs> {
    const keyring = findKeyring(this.#session.objects, oid)
    const epochs = this.#epochs.get(keyring) ?? epochsOf(this.#session, oid)
    this.#epochs.set(keyring, epochs)
    return epochs
  }
}

/** The commits that a head leads to and that are not ours, by nothing but their links. */
class News {
  readonly #parents: Map<Oid, readonly Oid[]> = new Map()
  readonly #children: Map<Oid, Oid[]> = new Map()

  constructor(objects: ObjectSource, history: History, head: Oid) {
    const ours = history.oids()
    const reached = new Set([head])
    for (const oid of reached) {
      const parents = parentsOf(objects, oid).filter((parent) => !ours.has(parent))
      this.#parents.set(oid, parents)
      for (const parent of parents) {
        reached.add(parent)
        const children = this.#children.get(parent) ?? []
        children.push(oid)
        this.#children.set(parent, children)
      }
    }
  }

  /** Whoever is nearer to the head comes first. */
  get commits(): Iterable<Oid> {
    return this.#parents.keys()
  }

  /** Without the commit itself. */
  pastOf(oid: Oid): readonly Oid[] {
    return [...reachedBy(this.#parents, oid)].slice(1)
  }

  /** What cannot verify either, whatever else it leads to. */
  spoiledBy({ code, details }: StoreError): Iterable<Oid> {
    const { commit } = details
    const mayBeRedacted = code === 'detail_missing' || code === 'redaction_undone'
    if (typeof commit !== 'string' || mayBeRedacted) return []
    return this.#parents.has(commit) ? reachedBy(this.#children, commit) : []
  }
}

function reachedBy(links: ReadonlyMap<Oid, readonly Oid[]>, from: Oid): ReadonlySet<Oid> {
  const reached = new Set([from])
  for (const oid of reached) for (const next of links.get(oid) ?? []) reached.add(next)
  return reached
}

function parentsOf(objects: ObjectSource, oid: Oid): readonly Oid[] {
  const object = objects.read(oid)
  return object?.type === 'commit' ? (findLinks(object.body)?.parents ?? []) : []
}

function tooManyError(verdict: StoreError): StoreError {
  return new StoreError(
    verdict.code,
    `${verdict.message}; more than ${TRIED_MAX} commits below it are refused as well, and a ` +
      'repair might take from others what is sound under them: nothing was replaced. To do so ' +
      'all the same, push by force with git',
    { cause: verdict, details: verdict.details },
  )
}
