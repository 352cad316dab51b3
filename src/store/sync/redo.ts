// Keyrings changed apart, and one line of history is left (FORMAT §9.3). Repeats on the other line,
// as changes of this device, what some devices wrote: version by version, merged by text with the
// current one. If an owner keeps its own line, it may also choose the redactions and the changes of
// devices. Passphrases and recovery keys are never repeated: an attacker may have set them.

import { equalBytes } from '../../bytes.ts'
import type { RedactReason } from '../../format/change-record.ts'
import { type Directory, findDevice, findRemoved } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import { zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { DeviceChanges } from '../../keys/membership.ts'
import { TimeSlice } from '../../time-slice.ts'
import { decodeAt, directoryAt } from '../access/post-revocation.ts'
import type { Change } from '../changes/changes.ts'
import type { Author } from '../commits/commit-context.ts'
import { changeEpoch } from '../devices/administration.ts'
import { deviceNameTexts } from '../guard/guard.ts'
import { type ContentSource, readMemory, readVersionContent } from '../history/contents.ts'
import type { TextState } from '../history/history-diff.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import { mergeContents } from '../merge/content-merge.ts'
import { pathsAside } from '../merge/placement.ts'
import { redact } from '../redaction/redaction.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { isTaken } from './remote-history.ts'
import type { Redo, SyncOptions } from './report.ts'

/** The line that is dropped: its commits, parents before children. */
interface DroppedLine {
  readonly source: HistorySource
  readonly left: readonly Oid[]
}

/** Returns the commits whose whole effect is in force here now. */
export async function redoLeft(
  session: StoreSession,
  line: DroppedLine,
  author: Author,
  { redo = [], signal }: Pick<SyncOptions, 'redo' | 'signal'>,
): Promise<ReadonlySet<Oid>> {
  const isChosen = (one: Redo): boolean => redo.includes(one)
  return new Set([
    ...(isChosen('redactions') ? await redactAgain(session, line, author, signal) : []),
    ...(isChosen('members') ? await changeDevicesAgain(session, line, author) : []),
  ])
}

async function redactAgain(
  session: StoreSession,
  { source, left }: DroppedLine,
  author: Author,
  signal: AbortSignal | undefined,
): Promise<readonly Oid[]> {
  const redactions = left.flatMap((oid) => {
    const { kind, reason = 'unspecified', rows } = decodeAt(source, oid).record
    return kind === 'redact' ? [{ oid, reason, named: rows.map(({ versionId }) => versionId) }] : []
  })
  for (const reason of new Set(redactions.map((one) => one.reason))) {
    const named = redactions.flatMap((one) => (one.reason === reason ? one.named : []))
    await redactHere(session, named, reason, { author, signal })
  }
  // A version that never came here is lost with that line.
  const kept = new Set(await notRedacted(session, new Set(redactions.flatMap((one) => one.named))))
  const isGone = ({ named }: { readonly named: readonly string[] }): boolean =>
    !named.some((id) => kept.has(id))
  return redactions.filter(isGone).map(({ oid }) => oid)
}

/** The versions that are here and not redacted. */
async function notRedacted(
  session: StoreSession,
  versionIds: Iterable<string>,
): Promise<readonly string[]> {
  const history = await session.loadHistory({})
  const isRedacted = await session.reading(({ redacted }) => new Set(redacted))
  return [...versionIds].filter((id) => !isRedacted.has(id) && history.find(id) !== undefined)
}

/** Current versions of live memories are kept: redacting them takes a decision of its own. */
async function redactHere(
  session: StoreSession,
  named: readonly string[],
  reason: RedactReason,
  { author, signal }: { readonly author: Author; readonly signal: AbortSignal | undefined },
): Promise<void> {
  const here = await notRedacted(session, new Set(named))
  const versionIds = here.map((id) => formatId('version', id))
  if (versionIds.length === 0) return
  const request = { select: { versionIds }, reason, current: 'keep' } as const
  await redact(session, request, author, { signal })
}

async function changeDevicesAgain(
  session: StoreSession,
  { source, left }: DroppedLine,
  author: Author,
): Promise<readonly Oid[]> {
  const keyrings = left.filter((oid) => decodeAt(source, oid).record.kind === 'keyring')
  const [first] = keyrings
  const last = keyrings.at(-1)
  const [parent] = first === undefined ? [] : decodeAt(source, first).parts.parents
  if (parent === undefined || last === undefined) return []
  const [before, after] = [directoryAt(source, parent), directoryAt(source, last)]
  return session.writing(async () => {
    const { snapshot, identity } = session
    const { changes, isAll } = changesAgain(before, after, {
      now: snapshot.keyring.directory,
      own: identity.deviceId,
    })
    const { givers, ...ofDevices } = changes
    const isSame = givers === snapshot.keyring.directory.givers
    const isNone = isSame && Object.values(ofDevices).every((some) => [...some].length === 0)
    const names = [...changes.names.values(), ...changes.added.map(({ name }) => name)]
    await session.checkPermanent(names.flatMap(deviceNameTexts))
    const built = isNone ? undefined : await changeEpoch(session, changes, author)
    return { built, result: isAll ? keyrings : [] }
  }, true)
}

/** The directory in force here, and the device that signs. */
interface RedoPlace {
  readonly now: Directory
  readonly own: string
}

/** The changes from `before` to `after` that are still possible here, and whether all are. */
function changesAgain(
  before: Directory,
  after: Directory,
  { now, own }: RedoPlace,
): { readonly changes: Required<DeviceChanges>; readonly isAll: boolean } {
  const added = after.devices.filter(({ deviceId }) => !findDevice(before, deviceId))
  const missing = added.filter(({ deviceId }) => !findDevice(now, deviceId))
  const kept = after.devices.filter(({ deviceId }) => findDevice(before, deviceId))
  const roles = kept.filter(({ deviceId, role }) => findDevice(before, deviceId)?.role !== role)
  const names = kept.filter(({ deviceId, name }) => findDevice(before, deviceId)?.name !== name)
  const removed = before.devices.filter(({ deviceId }) => !findDevice(after, deviceId))
  const isThere = ({ deviceId }: { readonly deviceId: string }): boolean =>
    findDevice(now, deviceId) !== undefined && deviceId !== own
  const changes = {
    givers: before.givers === after.givers ? now.givers : after.givers,
    added: missing.filter(({ deviceId }) => !findRemoved(now, deviceId)),
    removed: removed.filter(isThere).map(({ deviceId }) => deviceId),
    roles: new Map(roles.filter(isThere).map(({ deviceId, role }) => [deviceId, role])),
    names: new Map(names.filter(isThere).map(({ deviceId, name }) => [deviceId, name])),
  }
  const asked = missing.length + removed.length + roles.length + names.length
  const { roles: newRoles, names: newNames } = changes
  const made = changes.added.length + changes.removed.length + newRoles.size + newNames.size
  return { changes, isAll: made === asked && haveSameSecrets(before, after) }
}

function haveSameSecrets(before: Directory, after: Directory): boolean {
  if (before.quota !== after.quota || before.recovery.length !== after.recovery.length) return false
  return before.recovery.every(({ slotId, signingKey }) => {
    const same = after.recovery.find((one) => one.slotId === slotId)
    return same !== undefined && equalBytes(same.signingKey, signingKey)
  })
}

/** A line of history that is left. */
export interface LeftLine {
  readonly history: History
  /** The followed line, which may still have versions that the left one has redacted. */
  readonly followed: History
  /** The positions of the commits that are left. */
  readonly positions: ReadonlySet<number>
  /** Reads the contents of that line, and of the one that is followed. */
  readonly contents: ContentSource
  /** By the id of a memory on the left line, that of the one which was created for it here. */
  readonly renamed?: ReadonlyMap<string, string> | undefined
}

/** Brings the changes of a left line into a snapshot. */
export interface RepeatPlan {
  readonly changes: readonly Change[]
  /** By the id of a memory on the left line, the path at which one is created for it. */
  readonly created: ReadonlyMap<string, string>
}

/** A memory of the left line, and its intended state. */
interface Repeated {
  /** The live memory that changes; undefined if a new one is created. */
  readonly live: LiveMemory | undefined
  /** Undefined to remove it. */
  target: TextState | undefined
}

/** Plans what brings the changes of one device there into the snapshot. */
export async function planRepeats(
  snapshot: Snapshot,
  line: LeftLine,
  deviceId: string,
  signal?: AbortSignal,
): Promise<RepeatPlan> {
  const slice = new TimeSlice(signal)
  const repeats = new Repeats(snapshot, line)
  for (const position of [...line.positions].toSorted((a, b) => a - b)) {
    if (slice.isOver()) await slice.next()
    if (line.history.commits.at(position)?.deviceId !== deviceId) continue
    for (const entry of line.history.rowsAt(position)) {
      const isRedacted = entry.path === undefined || snapshot.redacted.has(entry.versionId)
      if (!isRedacted && !isHere(snapshot, entry)) repeats.add(entry)
    }
  }
  return repeats.plan()
}

/** Whether a version certainly is in the history of a snapshot. */
function isHere({ current }: Snapshot, { memoryId, versionId, base }: VersionEntry): boolean {
  const now = current.get(memoryId)
  return now?.versionId === versionId || (base === zeroId && now !== undefined)
}

class Repeats {
  readonly #snapshot: Snapshot
  readonly #contents: ContentSource
  readonly #followed: History
  readonly #renamed: LeftLine['renamed']
  /** By the id of the memory on the left line. */
  readonly #memories: Map<string, Repeated> = new Map()

  constructor(snapshot: Snapshot, { contents, followed, renamed }: LeftLine) {
    this.#snapshot = snapshot
    this.#renamed = renamed
    this.#contents = contents
    this.#followed = followed
  }

  /** For a version that is not redacted. */
  add(entry: VersionEntry): void {
    const { path = '' } = entry
    const content = readVersionContent(this.#contents, entry)
    const mine = content === undefined ? undefined : { path, content }
    const repeated = this.#memories.get(entry.memoryId) ?? this.#begin(entry, path)
    this.#memories.set(entry.memoryId, repeated)
    repeated.target = this.#merge(this.#baseOf(entry), mine, repeated.target)
  }

  plan(): RepeatPlan {
    const taken = new Set<string>()
    const created = new Map<string, string>()
    const changes = [...this.#memories].flatMap(
      ([memoryId, { live, target }]): readonly Change[] => {
        if (live === undefined) {
          if (target === undefined) return []
          const path = this.#freePath(target.path, memoryId, taken)
          taken.add(path)
          created.set(memoryId, path)
          return [{ type: 'create', path, content: target.content }]
        }
        const id = formatId('memory', live.memoryId)
        if (target === undefined) return [{ type: 'delete', memoryId: id }]
        const isFree = target.path !== live.path && this.#isFree(target.path, taken)
        const path = isFree ? target.path : live.path
        taken.add(path)
        return [{ type: 'update', memoryId: id, content: target.content, path }]
      },
    )
    return { changes, created }
  }

  /** The memory as it is now, or another one at the path where one was created. */
  #begin({ memoryId, base }: VersionEntry, path: string): Repeated {
    const { current, paths } = this.#snapshot
    const same = current.get(this.#renamed?.get(memoryId) ?? memoryId)?.live
    const live = same ?? (base === zeroId ? paths.findMemory(path) : undefined)
    if (live === undefined) return { live, target: undefined }
    return { live, target: { path: live.path, content: readMemory(this.#contents, live) } }
  }

  /** Undefined for a creation, and if the previous version cannot be read. */
  #baseOf({ bases: [before] }: VersionEntry): TextState | undefined {
    const base = before && (this.#followed.find(before.versionId) ?? before)
    const content = base && readVersionContent(this.#contents, base)
    return content === undefined || base?.path === undefined
      ? undefined
      : { path: base.path, content }
  }

  #merge(
    base: TextState | undefined,
    mine: TextState | undefined,
    now: TextState | undefined,
  ): TextState | undefined {
    // An edit of the other line outlives a deletion, as in a merge.
    if (mine === undefined) return now?.content === base?.content ? undefined : now
    if (now === undefined) return mine
    const sides = { base: base?.content ?? '', older: now.content, newer: mine.content }
    const limit = this.#snapshot.settings.value.limits.contentBytes
    const { content } = mergeContents(sides, limit)
    return { content, path: mine.path === base?.path ? now.path : mine.path }
  }

  #freePath(path: string, memoryId: string, taken: ReadonlySet<string>): string {
    const free = [path, ...pathsAside(path, memoryId)].find((one) => this.#isFree(one, taken))
    return free ?? path
  }

  #isFree(path: string, taken: ReadonlySet<string>): boolean {
    return !taken.has(path) && !isTaken(this.#snapshot.paths, path)
  }
}
