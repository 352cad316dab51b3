// sync = fetch → verify → unify → push, again if another clone pushed meanwhile (DESIGN §5). Each
// step leaves a store that is whole: what fails after one of them has lost nothing. Never forces:
// a push names the commit that it replaces.

import { formatId } from '../../format/id.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Remote } from '../../git/remotes.ts'
import type { Author } from '../commit.ts'
import type { StoreSession } from '../session.ts'
import { findAwaited } from './awaited.ts'
import { headWords } from './head-words.ts'
import { KnownRemote } from './known-remote.ts'
import type { LateChange } from './late-changes.ts'
import type { StoreSyncOptions, SyncOptions } from './options.ts'
import { addUnified, Receiver } from './receive.ts'
import type { Received } from './receive.ts'
import type { SyncReport } from './report.ts'
import { nothingSent, Sender } from './send.ts'
import type { Sent } from './send.ts'
import { nothingMoved } from './unify.ts'

/** Throws `not_found` or `invalid_input` where it is not clear which remote is meant. */
export function syncStore(
  session: StoreSession,
  author: Author,
  options: StoreSyncOptions,
): Promise<SyncReport> {
  return syncWith(session, getRemote(session.exchange.remotes(), options.remote), author, options)
}

/** Throws `not_found`, or `invalid_input` for several and no name. */
export function getRemote(remotes: readonly Remote[], name: string | undefined): Remote {
  const found = name === undefined ? remotes : remotes.filter((remote) => remote.name === name)
  if (found.length > 1) {
    throw new StoreError(
      'invalid_input',
      'The store has several remotes: name the one to sync with',
    )
  }
  if (found[0] !== undefined) return found[0]
  const which = name === undefined ? 'The store has no remote' : `There is no remote named ${name}`
  throw new StoreError('not_found', which)
}

/** Other clones may win the race for the branch so often. */
const ATTEMPTS = 8
const PAUSE_MS = 100

/**
 * Throws a remote code, `rolled_back`, `store_id_mismatch`, `wrong_key`, `keyring_conflict`, or
 * what verification refuses; local work is untouched then.
 */
async function syncWith(
  session: StoreSession,
  remote: Remote,
  author: Author,
  options: SyncOptions = {},
): Promise<SyncReport> {
  const known = new KnownRemote(session, remote)
  const access = { signal: options.signal, ...options.access, url: remote.url }
  const sender = new Sender(session, access, known, options)
  const receiver = new Receiver(session, remote, known, options)
  const redacted = session.snapshot.redacted.size
  const late = new Map<string, LateChange>()
  const total = { commits: 0, bytes: 0, unified: nothingMoved, late, redacted }
  const sentAtOnce = options.only === 'pull' ? undefined : await sender.sendAtOnce()
  if (sentAtOnce !== undefined) {
    await receiver.forgetRefused()
    return describe(session, remote, total, sentAtOnce)
  }
  for (let attempt = 1; ; attempt += 1) {
    const received = await receiver.receive(author)
    total.commits += received.commits
    total.bytes += received.bytes
    total.unified = addUnified(total.unified, received.unified)
    // Another attempt may meet them again.
    for (const change of received.late) late.set(change.commit, change)
    try {
      const sent = options.only === 'pull' ? nothingSent : await sender.send(received.head)
      await receiver.forgetRefused()
      return await describe(session, remote, total, sent)
    } catch (error) {
      if (!hasCode(error, 'remote_moved') || attempt === ATTEMPTS) throw error
      await wait(session.random(1)[0] ?? 0, attempt)
    }
  }
}

/** What all attempts received. */
interface Total extends Omit<Received, 'head' | 'late'> {
  /** By commit. */
  readonly late: ReadonlyMap<string, LateChange>
  /** How many versions were redacted here before. */
  readonly redacted: number
}

async function describe(
  session: StoreSession,
  { name }: Remote,
  { commits, bytes, unified, late, redacted }: Total,
  sent: Sent,
): Promise<SyncReport> {
  const awaited = await findAwaited(session, redacted)
  return session.reading(({ head, devices }) => ({
    remote: name,
    received: { commits, bytes },
    sent,
    merge: unified.merge,
    outcomes: unified.outcomes,
    erased: unified.erased,
    awaited,
    keyrings: unified.keyrings,
    late: [...late.values()],
    head: head.commit,
    headWords: headWords(session.storeId, head.record),
    forkedDevices: [...devices]
      .filter(([, { forked }]) => forked)
      .map(([deviceId]) => formatId('device', deviceId)),
  }))
}

/** Two clones that lost a race together do not lose the next one together. */
async function wait(jitter: number, attempt: number): Promise<void> {
  const ms = PAUSE_MS * attempt * (0.5 + jitter / 255)
  await new Promise((resolve) => setTimeout(resolve, ms))
}
