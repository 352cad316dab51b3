// Retention: deletes memories that were not changed or read for a time, by ordinary changes that
// restore and rollback can revert. Erasing old versions is a redaction (redaction.ts). Never runs
// by itself.

import { spanText } from '../../duration.ts'
import { StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import { checkPath } from '../../format/path.ts'
import { rowsMax } from '../../limits.ts'
import { checkMayWrite } from '../access/authority.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildChange } from '../commits/commit.ts'
import { readMemory } from '../history/contents.ts'
import { LatestTimes } from '../history/record-times.ts'
import { lastChangeOf } from '../history/version-inputs.ts'
import type { Reads } from '../local/reads.ts'
import type { StoreSession } from '../session/session.ts'
import { type LiveMemory, describeMemory, type MemoryInfo } from '../snapshot/live-memory.ts'
import { memoriesBelow } from '../snapshot/path-tree.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { planChanges } from './changes.ts'

/** Which memories expire. All given conditions must hold; at least one time is needed. */
export interface ExpiryRule {
  /** ms since the last change. */
  readonly unchangedFor?: number
  /**
   * ms since the last read **on this device**, or the last change, whichever is later. Reads on
   * other devices are unknown here, and nothing expires before reads were recorded for this long.
   */
  readonly unreadFor?: number
  /** Only memories at or below this path. */
  readonly path?: string
}

/** The deleted memories, or with `dryRun` those that would be deleted. */
export interface Expiry {
  /** The newest commit; undefined if nothing was deleted. */
  readonly commit: string | undefined
  readonly versionIds: readonly string[]
  /** The memories before their deletion, in the order of their paths. */
  readonly expired: readonly MemoryInfo[]
}

/** The live memories that a rule applies to, in the order of their paths. Times are in ms. */
export function planExpiry(
  { paths }: Pick<Snapshot, 'paths'>,
  reads: Pick<Reads, 'lastRead'>,
  rule: ExpiryRule,
  now: number,
  changedAt: (memory: LiveMemory) => number = ({ updated }) => updated,
): readonly LiveMemory[] {
  const { unchangedFor = 0, unreadFor = 0, path = '/' } = rule
  const node = paths.find(path)
  if (node === undefined) return []
  const expired = [...memoriesBelow(node)].filter((memory) => {
    const changed = changedAt(memory)
    const used = unreadFor === 0 ? changed : Math.max(changed, reads.lastRead(memory.memoryId))
    return now - changed >= unchangedFor && now - used >= unreadFor
  })
  return expired.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/**
 * Deletes expired memories, in one commit for each 16,384. The default reason is a description of
 * the rule. Throws `invalid_input` for a rule without a time, `permission_denied` or a storage
 * code; earlier commits are kept.
 */
export async function expire(
  session: StoreSession,
  reads: Reads,
  rule: ExpiryRule,
  author: Author,
  options: { readonly dryRun?: boolean } = {},
): Promise<Expiry> {
  checkRule(rule)
  if (options.dryRun === true) {
    const expired = await session.planning(() => {
      return findExpired(session, reads, rule, session.nextTime())
    })
    return { commit: undefined, versionIds: [], expired: expired.map(describeMemory) }
  }
  const expireNext = () => session.writing(() => expireSome(session, reads, rule, author), true)
  let done = await expireNext()
  while (done.expired.length > 0 && done.expired.length % rowsMax === 0) {
    const more = await expireNext()
    if (more.commit === undefined) break
    const versionIds = [...done.versionIds, ...more.versionIds]
    done = { commit: more.commit, versionIds, expired: [...done.expired, ...more.expired] }
  }
  return done
}

/** Uses the latest possible times, so that a wrong clock makes no memory look old. */
async function findExpired(
  session: StoreSession,
  reads: Reads,
  rule: ExpiryRule,
  now: number,
): Promise<readonly LiveMemory[]> {
  const { snapshot } = session
  if ((rule.unreadFor ?? 0) > 0) await reads.load()
  // Usually nothing has expired, and then the history is not needed.
  const wasRekeyed = snapshot.keyring.archived.length > 0
  const past = ({ created, updated }: LiveMemory): number => {
    // Sealing a memory again under new keys is no change.
    const time = wasRekeyed ? Math.min(created, updated) : updated
    return time > now ? 0 : time
  }
  const candidates = planExpiry(snapshot, reads, rule, now, past)
  if (candidates.length === 0) return []
  const history = await session.historyNow()
  const changes = candidates
    .flatMap(({ memoryId }) => history.ofMemory(memoryId).at(-1) ?? [])
    .map((entry) => lastChangeOf(entry))
  const latest = new LatestTimes(history, now)
  const times = new Map(changes.map(({ memoryId, commit }) => [memoryId, latest.of(commit)]))
  return planExpiry(snapshot, reads, rule, now, ({ memoryId }) => times.get(memoryId) ?? now)
}

/** Deletes at most as many memories as fit in one commit. */
async function expireSome(
  session: StoreSession,
  reads: Reads,
  rule: ExpiryRule,
  author: Author,
): Promise<{
  readonly built: Awaited<ReturnType<typeof buildChange>> | undefined
  readonly result: Expiry
}> {
  const { snapshot, contents } = session
  checkMayWrite(snapshot, session.identity, 'change')
  const now = session.nextTime()
  const memories = (await findExpired(session, reads, rule, now)).slice(0, rowsMax)
  const result = { commit: undefined, versionIds: [], expired: [] }
  if (memories.length === 0) return { built: undefined, result }
  const changes = memories.map(({ path }) => ({ type: 'delete', path }) as const)
  const readContent = (memory: LiveMemory): string => readMemory(contents, memory)
  const { rows } = await planChanges({ snapshot, now, readContent }, changes)
  const expired = memories.map(describeMemory)
  await session.checkContents(rows, author)
  const withReason = { ...author, reason: author.reason ?? reasonOf(rule) }
  const built = await buildChange(
    await session.commitContext(now, author),
    snapshot,
    rows,
    withReason,
  )
  const versionIds = built.versionIds.map((id) => formatId('version', id))
  return { built, result: { commit: built.snapshot.head.commit, versionIds, expired } }
}

function checkRule({ unchangedFor, unreadFor, path }: ExpiryRule): void {
  const times = [unchangedFor, unreadFor].filter((time) => time !== undefined)
  if (times.length === 0 || !times.every((time) => Number.isSafeInteger(time) && time > 0)) {
    throw new StoreError(
      'invalid_input',
      'An expiry rule needs `unchangedFor` or `unreadFor`, in whole milliseconds above 0',
    )
  }
  if (path !== undefined && path !== '/') checkPath(path)
}

/** `expired: not changed for 90 days, not read for 1 day`. */
function reasonOf({ unchangedFor, unreadFor }: ExpiryRule): string {
  const parts = [
    ...(unchangedFor === undefined ? [] : [`not changed for ${spanText(unchangedFor)}`]),
    ...(unreadFor === undefined ? [] : [`not read for ${spanText(unreadFor)}`]),
  ]
  return `expired: ${parts.join(', ')}`
}
