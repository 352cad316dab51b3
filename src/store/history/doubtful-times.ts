// Finds the changes that a time reaches, or misses, only because clocks disagree. A record that is
// dated far back makes every earlier one older (FORMAT §6.5), so that the state at a time can hold
// changes that were written after it. Callers that ask for a time are told so, and whose record it
// is. Pure over the history. Decides nothing about a state (points.ts) or a revert (store/revert).

import type { DoubtfulRecord, DoubtfulTimes } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { CommitEntry, VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'
import type { Point } from './points.ts'
import { doubtfulAfter, formatTime, parentsAt, stampedBy } from './record-times.ts'

export interface FoundDoubt {
  readonly times: DoubtfulTimes
  /** The positions of commits whose changes may remain only because of the doubt. */
  readonly positions: ReadonlySet<number>
}

/** What a question is about, apart from its time. */
export interface DoubtScope {
  /** Whether an author, by its id in hex, is the holder of a grant. */
  readonly isGrant: (deviceId: string) => boolean
  /** The clock here: times far after it prove nothing about the changes that follow. */
  readonly now: number
  /** Only changes with such a version; all if left out. */
  readonly concerns?: ((entry: VersionEntry) => boolean) | undefined
}

/** At most this many records and authors are named. */
const NAMED_MAX = 3

/** Undefined for a version or a commit, and if no clock matters. Yields after each change. */
export function* findDoubt(
  history: History,
  point: Point,
  scope: DoubtScope,
): Generator<undefined, FoundDoubt | undefined> {
  if ('time' in point) {
    const found = scan(history, point.time, scope.now)
    const doubted = { ...includedIn(found), leftOut: [] }
    return yield* describe(history, doubted, scope, (kept) => causesOf(history, found, kept))
  }
  if (!('stampedTime' in point)) return undefined
  const { stampedTime } = point
  const { later, undated, ...found } = scan(history, stampedTime, scope.now)
  const isStamped = stampedBy(history, stampedTime)
  const leftOut = found.stamped.filter((position) => !isStamped(position))
  const datedBack = undated.filter(isStamped)
  const doubted = { stampedLater: [], datedBack, leftOut }
  const doubt = yield* describe(history, doubted, scope, (kept) => {
    // The latest of each: without those, most would be included.
    const late =
      kept.leftOut.length === 0 ? [] : oneOfEach(history, later, (a, b) => b.time - a.time)
    return [...late, ...oneOfEach(history, kept.datedBack, byTime)].slice(0, NAMED_MAX)
  })
  // A change that is left out of a state cannot remain in it.
  return doubt && { ...doubt, positions: new Set(datedBack) }
}

export interface SpanScope extends DoubtScope {
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** Whether a commit is meant, whatever its time. */
  readonly isSelected: (commit: CommitEntry) => boolean
  /** Whether its time lies between the two, as the question reads it. */
  readonly isBetween: (commit: CommitEntry) => boolean
}

/** The same for a question about the changes between two times. Yields after each change. */
export function* findDoubtBetween(
  history: History,
  scope: SpanScope,
): Generator<undefined, FoundDoubt | undefined> {
  const { since, until, now, isSelected, isBetween } = scope
  const pick = (positions: readonly number[], between: boolean): readonly number[] =>
    positions.filter((position) => {
      const commit = history.commits.at(position)
      return commit !== undefined && isSelected(commit) && isBetween(commit) === between
    })
  const last = until === undefined ? nothing : scan(history, until, now)
  // Before a time, times being whole.
  const first = since === undefined ? nothing : scan(history, Math.ceil(since) - 1, now)
  const { stampedLater, datedBack } = includedIn(last)
  // A time that is far beyond the head's is read as its placed time alone.
  const older = [...first.later, ...first.after, ...first.undated].filter((position) => {
    return history.timeAt(position) <= (until ?? Number.POSITIVE_INFINITY)
  })
  const doubted = {
    stampedLater: pick(stampedLater, true),
    datedBack: pick(datedBack, true),
    leftOut: pick(older, false),
  }
  const earliest = new Map([...first.earliest, ...last.earliest])
  return yield* describe(history, doubted, scope, (kept) => causesOf(history, { earliest }, kept))
}

/** Positions of commits in the state at a time. */
interface Scan {
  /** Stamped later than the time. */
  readonly later: readonly number[]
  /** Stamped by the time. */
  readonly stamped: readonly number[]
  /** Those of them with one in their past that is stamped later, though not far after now. */
  readonly after: readonly number[]
  /** Others, stamped over 24 hours before one in their past. No later one vouches for them. */
  readonly undated: readonly number[]
  /** The earliest descendant of each in `later`. */
  readonly earliest: ReadonlyMap<number, number>
}

const nothing: Scan = { later: [], stamped: [], after: [], undated: [], earliest: new Map() }

function includedIn({ later, after, undated }: Scan): Omit<Doubted, 'leftOut'> {
  return { stampedLater: later, datedBack: [...after, ...undated] }
}

function scan(history: History, time: number, now: number): Scan {
  const { length } = history.commits
  const { isAfterLater, latest } = lookBack(history, time, now)
  const [isIn, isVouched] = [new Uint8Array(length), new Uint8Array(length)]
  /** By position, the time of the earliest descendant so far, and its position. */
  const least = new Float64Array(length).fill(Number.POSITIVE_INFINITY)
  const leastAt = new Uint32Array(length)
  const [later, stampedBefore]: [number[], number[]] = [[], []]
  const [after, undated]: [number[], number[]] = [[], []]
  const earliest = new Map<number, number>()
  for (let position = length - 1; position >= 0; position -= 1) {
    const stamped = history.timeAt(position)
    const known = latest[position] ?? Number.NEGATIVE_INFINITY
    if (stamped <= time) {
      isIn[position] = 1
      stampedBefore.push(position)
      if (isAfterLater[position] === 0 && known - stamped <= doubtfulAfter) isVouched[position] = 1
    }
    const below = least[position] ?? Number.POSITIVE_INFINITY
    if (isIn[position] === 1) {
      if (stamped > time) {
        later.push(position)
        earliest.set(position, leastAt[position] ?? position)
      } else if (isAfterLater[position] === 1) after.push(position)
      else if (isVouched[position] === 0) undated.push(position)
    }
    const own = Math.min(stamped, below)
    const ownAt = stamped <= below ? position : (leastAt[position] ?? position)
    for (const parent of parentsAt(history, position)) {
      if (isIn[position] === 1) isIn[parent] = 1
      if (isVouched[position] === 1) isVouched[parent] = 1
      if (own >= (least[parent] ?? 0)) continue
      least[parent] = own
      leastAt[parent] = ownAt
    }
  }
  return { later, stamped: stampedBefore, after, undated, earliest }
}

/** By position, of the past of each commit: whether any is later than a time, else the latest. */
function lookBack(
  history: History,
  time: number,
  now: number,
): { readonly isAfterLater: Uint8Array; readonly latest: Float64Array } {
  const { length } = history.commits
  const isAfterLater = new Uint8Array(length)
  const latest = new Float64Array(length).fill(Number.NEGATIVE_INFINITY)
  for (let position = 0; position < length; position += 1) {
    let most = Number.NEGATIVE_INFINITY
    for (const parent of parentsAt(history, position)) {
      const stamped = history.timeAt(parent)
      const isLater = stamped > time && stamped <= now + doubtfulAfter
      if (isLater || isAfterLater[parent] === 1) isAfterLater[position] = 1
      most = Math.max(most, latest[parent] ?? most, stamped > time ? most : stamped)
    }
    latest[position] = most
  }
  return { isAfterLater, latest }
}

/** The commits that have made earlier ones older, and those that are dated back themselves. */
function causesOf(
  history: History,
  { earliest }: Pick<Scan, 'earliest'>,
  { stampedLater, datedBack, leftOut }: Doubted,
): readonly CommitEntry[] {
  const older = [...stampedLater, ...leftOut].map((position) => earliest.get(position) ?? position)
  return oneOfEach(history, [...older, ...datedBack], byTime)
}

function byTime(a: CommitEntry, b: CommitEntry): number {
  return a.time - b.time
}

/** For each author the first commit in this order, a few in all. */
function oneOfEach(
  history: History,
  positions: readonly number[],
  compare: (a: CommitEntry, b: CommitEntry) => number,
): readonly CommitEntry[] {
  const first = new Map<string, CommitEntry>()
  for (const position of new Set(positions)) {
    const commit = history.commits.at(position)
    if (commit === undefined) continue
    const known = first.get(commit.deviceId)
    if (known === undefined || compare(commit, known) < 0) first.set(commit.deviceId, commit)
  }
  return [...first.values()].toSorted(compare).slice(0, NAMED_MAX)
}

/** Positions, as `DoubtfulTimes` counts them. */
interface Doubted {
  readonly stampedLater: readonly number[]
  readonly datedBack: readonly number[]
  readonly leftOut: readonly number[]
}

/** Counts what wrote versions: nothing else shows in a state. */
function* describe(
  history: History,
  doubted: Doubted,
  scope: DoubtScope,
  causes: (kept: Doubted) => readonly CommitEntry[],
): Generator<undefined, FoundDoubt | undefined> {
  const { concerns = () => true } = scope
  const stampedLater = yield* writing(history, doubted.stampedLater, concerns)
  const datedBack = yield* writing(history, doubted.datedBack, concerns)
  const leftOut = yield* writing(history, doubted.leftOut, concerns)
  const all = [...stampedLater, ...datedBack, ...leftOut]
  if (all.length === 0) return undefined
  const last = all.toSorted((a, b) => b - a).slice(0, NAMED_MAX)
  const newest = last.flatMap((position) => history.commits.at(position) ?? [])
  const named = (commit: CommitEntry): DoubtfulRecord => describeRecord(history, commit, scope)
  return {
    times: {
      stampedLater: stampedLater.length,
      datedBack: datedBack.length,
      leftOut: leftOut.length,
      newest: newest.map(named),
      causes: causes({ stampedLater, datedBack, leftOut }).map(named),
    },
    positions: new Set(all),
  }
}

function* writing(
  history: History,
  positions: readonly number[],
  concerns: (entry: VersionEntry) => boolean,
): Generator<undefined, readonly number[]> {
  const found: number[] = []
  for (const position of positions) {
    yield
    if (history.rowsAt(position).some(concerns)) found.push(position)
  }
  return found
}

function describeRecord(
  history: History,
  { position, deviceId, session, time }: CommitEntry,
  { isGrant }: DoubtScope,
): DoubtfulRecord {
  const [first] = history.rowsAt(position)
  return {
    versionId: first && formatId('version', first.versionId),
    deviceId: formatId('device', deviceId),
    byGrant: isGrant(deviceId),
    session,
    time,
  }
}

/** One sentence for users, without a final period. `nameOf` writes an author, `when` the time. */
export function doubtSentence(
  { stampedLater, datedBack, leftOut, causes: [cause] }: DoubtfulTimes,
  nameOf: (record: DoubtfulRecord) => string = authorText,
  when: string = 'that time',
): string {
  const dated = cause && `${nameOf(cause)} has dated a record ${formatTime(cause.time)}`
  const since = dated === undefined ? '' : `, since ${dated}`
  if (stampedLater > 0) {
    const verb = stampedLater === 1 ? 'is' : 'are'
    return `${changesText(stampedLater)} stamped after ${when} ${verb} taken for older${since}`
  }
  const isOne = (leftOut || datedBack) === 1
  const why = `${isOne ? 'its time contradicts' : 'their times contradict'} those of other changes`
  if (leftOut > 0) {
    const verb = leftOut === 1 ? 'is' : 'are'
    return `${changesText(leftOut)} ${verb} left out, as ${why}${since}`
  }
  return `${changesText(datedBack)} may be newer than ${when}, as ${why}${since}`
}

function changesText(count: number): string {
  return count === 1 ? '1 change' : `${count} changes`
}

function authorText({ deviceId, byGrant }: DoubtfulRecord): string {
  return `the ${byGrant ? 'grant' : 'device'} ${deviceId}`
}
