// What was measured of sync, as bounds and tables.

import type { Absent } from '../lane.ts'
import type { Bar, Plot } from '../plot.ts'
import { atMost, type Bound, type Gain, type Section, type Table, unmeasured } from '../report.ts'
import type { Site } from '../site.ts'
import { bytes, digits, milliseconds, ratio, summarize, type Summary } from '../statistics.ts'
import type { SyncAnswer, SyncCall } from '../sync-child.ts'
import { memoryBound } from '../task.ts'

const pushRatioMax = 2
/** Of one change by a process of its own, of the first push and of the first join. */
const processRatioMax = 4
const firstRatiosMax = [1.3, 2]
const pushBytesMax = 4e3

/** A value, and the bytes that went over the wire for it, if there is one. */
export interface Counted<T> {
  readonly value: T
  readonly wire: number | undefined
}

/** The same commits moved by us and by git. */
export interface Transfer {
  readonly name: string
  /** The first call of a process. */
  readonly first: Summary
  readonly whole: Summary
  /** Calls of a process that has synced before; none for what is done once. */
  readonly later: Summary
  readonly git: Summary
  readonly rssMax: number
  /** Of one transfer, bytes. */
  readonly pack: number
  readonly wire: number | undefined
  readonly gitWire: number | undefined
}

export interface Merge {
  /** How many memories both had changed. */
  readonly shared: number
  /** The sync that merges, and that of the other clone after it. */
  readonly merging: Counted<SyncAnswer>
  readonly taking: Counted<SyncAnswer>
}

/** Everything over one kind of host. */
export interface HostResult {
  readonly name: string
  readonly whole: readonly Transfer[]
  readonly one: readonly Transfer[]
  readonly merge: Merge
}

/** Collects what becomes a transfer. */
export class Samples {
  readonly #name: string
  readonly #first: Counted<SyncAnswer>[] = []
  readonly #later: Counted<SyncCall>[] = []
  readonly #git: Counted<number>[] = []

  constructor(name: string) {
    this.#name = name
  }

  first(answer: Counted<SyncAnswer>): void {
    this.#first.push(answer)
  }

  later(call: Counted<SyncCall>): void {
    this.#later.push(call)
  }

  git(elapsed: Counted<number>): void {
    this.#git.push(elapsed)
  }

  transfer(): Transfer {
    const answers = this.#first.map(({ value }) => value)
    const ours = [...this.#first, ...this.#later]
    const calls = ours.map(({ value }) => value)
    return {
      name: this.#name,
      first: summarize(answers.map(({ work }) => work)),
      whole: summarize(answers.map(({ whole }) => whole)),
      later: summarize(this.#later.map(({ value }) => value.work)),
      git: summarize(this.#git.map(({ value }) => value)),
      rssMax: Math.max(...calls.map(({ rssMax }) => rssMax)),
      pack: summarize(calls.map(({ sent, received }) => sent + received)).median,
      wire: wireOf(ours),
      gitWire: wireOf(this.#git),
    }
  }
}

/** The median; undefined if there is no wire. */
function wireOf(samples: readonly Counted<unknown>[]): number | undefined {
  const counts = samples.flatMap(({ wire }) => wire ?? [])
  return counts.length === 0 ? undefined : summarize(counts).median
}

export function reportSync(site: Site, measured: readonly (HostResult | Absent)[]): Section {
  const results = measured.filter((result) => 'merge' in result)
  const absent = measured.filter((result) => 'reason' in result)
  return {
    gains: results.slice(0, 1).flatMap(gainsOf),
    bounds: [...results.flatMap(boundsOf), ...absent.map(absentBound)],
    tables: [oneTable(site, results), wholeTable(site, results), mergeTable(site, results)],
    reasons: results.slice(0, 1).map(makeUp),
  }
}

/** What one change in a process of its own, and a first join, consist of. */
function makeUp({ name, one, whole: [, join] }: HostResult): string {
  const parts = one.map(({ name: what, first, later, whole }) => {
    const around = whole.median - first.median
    return (
      `a ${what} over ${name} takes a process ${milliseconds(whole.median)}: the call ` +
      `${milliseconds(first.median)}, ${milliseconds(first.median - later.median)} of them since ` +
      `it is the first one, and ${milliseconds(around)} around it, for Node.js, the modules, a ` +
      'store that is opened with its caches, and the caches written again; '
    )
  })
  const more = join && milliseconds(join.first.median - join.git.median)
  const text = `${parts.join('')}a first join takes ${more} more than git, which verifies nothing.`
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The first push, then the first join. */
function gainsOf({ whole }: HostResult): readonly Gain[] {
  return whole.slice(1).map(({ first, git }) => {
    return { peer: 'git clone', subject: 'a first join', times: git.median / first.median }
  })
}

function boundsOf({ name, whole, one, merge }: HostResult): readonly Bound[] {
  const pushes = one.slice(0, 1)
  return [
    ...pushes.map(({ later, git }) =>
      atMost(
        `push of one change over ${name}, a later call, × git push`,
        later.median / git.median,
        pushRatioMax,
        ratio,
      ),
    ),
    ...pushes.map(({ pack }) =>
      atMost(`push of one change over ${name}, the pack`, pack, pushBytesMax, bytes),
    ),
    ...one.map(({ name: what, whole: process, git }) =>
      atMost(
        `${what} over ${name}, the whole process, × git`,
        process.median / git.median,
        processRatioMax,
        ratio,
      ),
    ),
    ...whole.map(({ name: what, first, git }, index) => {
      const limit = firstRatiosMax[index] ?? 1
      return atMost(`${what} over ${name}, × git`, first.median / git.median, limit, ratio)
    }),
    ...[...one, ...whole].map((transfer) =>
      memoryBound(`${transfer.name} over ${name}`, transfer.rssMax),
    ),
    memoryBound(`merge over ${name}`, merge.merging.value.rssMax),
  ]
}

function absentBound({ name, reason }: Absent): Bound {
  return unmeasured(
    `push of one change over ${name}, a later call, × git push`,
    `≤ ${ratio(pushRatioMax)}`,
    reason,
  )
}

function oneTable(site: Site, results: readonly HostResult[]): Table {
  return {
    title: `Push and fetch of one change ${site.size}`,
    columns: transferColumns,
    rows: results.flatMap(({ name, one }) => one.flatMap((transfer) => rowsOf(name, transfer))),
    plot: plotOf(
      'sync',
      'One change by a fresh process, median, ms',
      results.flatMap(({ name, one }) =>
        one.flatMap((transfer) => barsOf(name, transfer, 'whole')),
      ),
    ),
    notes: [
      'The call: `me.sync` on a store that was just opened, until it resolves: what is new is ' +
        'verified before it is taken over, and what the remote has shown is remembered, durably. ' +
        'A later call: in a process that keeps the store open and has synced before. The whole ' +
        'process: Node starts, the store opens with warm caches, the call, the caches are ' +
        'written again, the store closes. git pushes the same commit out of the same repository ' +
        'to another one of the same kind, and fetches into a bare clone; it verifies nothing ' +
        'of what the commit says. Over a path, ours has the remote sync every file that it ' +
        'writes, which is not what git does by default.',
      'The memory is the most that our process held; those of git, on both sides, are not asked. ' +
        'The pack: what is sent or received of objects. The wire: all bytes between the two ' +
        'machines in both directions, encryption included.',
    ],
  }
}

function wholeTable(site: Site, results: readonly HostResult[]): Table {
  return {
    title: `First push and first join ${site.size}`,
    columns: transferColumns,
    rows: results.flatMap(({ name, whole }) => whole.flatMap((transfer) => rowsOf(name, transfer))),
    plot: plotOf(
      'first-sync',
      'First push and first join, ms',
      results.flatMap(({ name, whole }) =>
        whole.flatMap((transfer) => barsOf(name, transfer, 'first')),
      ),
    ),
    notes: [
      'First push: `me.sync` with an empty remote, beside `git push`. First join: `joinStore` ' +
        'by a device that was enrolled before: all is fetched, every commit is verified from ' +
        'genesis, and the store is opened; beside `git clone --bare`, without hard links.',
    ],
  }
}

const transferColumns = ['', '× git', 'median', 'memory', 'pack', 'wire', 'n'] as const

function rowsOf(host: string, transfer: Transfer): (readonly string[])[] {
  const { name, first, whole, later, git, rssMax, pack, wire, gitWire } = transfer
  const row = (what: string, time: Summary, rest: readonly string[]): readonly string[] => [
    `${name} over ${host}: ${what}`,
    ratio(time.median / git.median),
    milliseconds(time.median),
    ...rest,
    digits(time.n),
  ]
  return [
    row('the call', first, [bytes(rssMax), bytes(pack), bytesOrNone(wire)]),
    ...(later.n === 0 ? [] : [row('a later call', later, ['', '', ''])]),
    row('the whole process', whole, ['', '', '']),
    row('git', git, ['', '', bytesOrNone(gitWire)]),
  ]
}

function plotOf(name: string, title: string, bars: readonly Bar[]): Plot {
  return { name, title, bars, format: milliseconds }
}

function barsOf(host: string, transfer: Transfer, which: 'first' | 'whole'): readonly Bar[] {
  const label = `${transfer.name.replace(' of one change', '')}, ${host}`
  return [
    { label, value: transfer[which].median, ours: true },
    { label: 'git', value: transfer.git.median },
  ]
}

function mergeTable({ context, size }: Site, results: readonly HostResult[]): Table {
  const apart = digits(context.scale.apart)
  const shared = results.map(({ merge }) => digits(merge.shared))[0] ?? ''
  return {
    title: `Merge of two clones that diverged by ${apart} changes each, ${size}`,
    columns: ['', 'the call', 'fetch', 'verify and merge', 'push', 'memory', 'received', 'sent'],
    rows: results.flatMap(({ name, merge }) => [
      mergeRow(`the merging clone over ${name}`, merge.merging.value),
      mergeRow(`the other clone after it over ${name}`, merge.taking.value),
    ]),
    notes: [
      `Two devices have each changed ${apart} memories, ${shared} of them both: another line ` +
        'each, so that both texts are combined. One has synced already; the sync of the second ' +
        'one fetches and verifies those commits, merges, and pushes its own and the merge. Then ' +
        'the first one takes that over.',
    ],
  }
}

function mergeRow(what: string, { work, phases, rssMax, received, sent }: SyncAnswer): string[] {
  const { fetch, reconcile, push } = phases
  const times = [work, fetch, reconcile, push].map(milliseconds)
  return [what, ...times, bytes(rssMax), bytes(received), bytes(sent)]
}

function bytesOrNone(count: number | undefined): string {
  return count === undefined ? '' : bytes(count)
}
