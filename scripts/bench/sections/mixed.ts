// Mixed commands of the memory tool on many memories, one at a time: each kind of command beside
// the peers, and what a change costs each of them.

import { changes, type CommandName } from '../commands.ts'
import { append } from '../contenders/append.ts'
import type { ContenderKind } from '../contenders/contender.ts'
import { ageCommit, gitCommit } from '../contenders/git-commit.ts'
import { isomorphic } from '../contenders/isomorphic.ts'
import { pass } from '../contenders/pass.ts'
import { plainFiles } from '../contenders/plain-files.ts'
import { product } from '../contenders/product.ts'
import { sqlCipher, sqlite } from '../contenders/sqlite.ts'
import { type Absent, type Lane, startLanes } from '../lane.ts'
import { type Limits, measureLimits } from '../limits.ts'
import {
  atLeast,
  atMost,
  type Bound,
  type Gain,
  type Section,
  type Table,
  unmeasured,
} from '../report.ts'
import { takeTurns } from '../rounds.ts'
import type { RunContext } from '../run-context.ts'
import { digits, milliseconds, percent, ratio, type Summary } from '../statistics.ts'

/** Below this many samples a p99 is only the worst of them. */
const p99SamplesMin = 100
/** An append that is faster than this leaves more to the processor than to the disk. */
const slowAppendMs = 0.25
/** Of the device and of the group; of the record, the detail and the memory. */
const [signaturesEach, envelopesEach] = [2, 3]
const bounded: readonly CommandName[] = ['create', 'str_replace']

interface Measured {
  readonly lanes: readonly Lane[]
  readonly absent: readonly Absent[]
}

export async function measureMixed(context: RunContext): Promise<Section> {
  const { rounds, mixed } = context.scale
  const peers = [gitCommit, ageCommit, pass, isomorphic]
  const kinds = [append, product, sqlite(() => context.sqlite()), plainFiles, ...peers]
  context.log(`filling ${kinds.length} contenders with ${mixed.memories} memories each`)
  const { lanes, absent } = await startLanes(context, 'mixed', kinds, mixed)
  context.log(`${lanes.length} contenders take turns, ${rounds} rounds`)
  for (const lane of lanes) if (lane.pace === 'fast') await lane.warmUp(1)
  await takeTurns(lanes, rounds)
  for (const lane of lanes) await lane.close()
  const measured = { lanes, absent }
  return {
    gains: gainsOf(measured),
    bounds: boundsOf(measured),
    reasons: [makeUp(measured, await measureLimits(context))],
    tables: [commandsTable(measured, context), contendersTable(measured, kinds)],
  }
}

function summaryOf({ lanes }: Measured, name: string, commands: readonly CommandName[]): Summary {
  const lane = lanes.find((each) => each.name === name)
  return lane === undefined ? noSummary : lane.of(commands)
}

const nothing = Number.NaN
const noSummary: Summary = { n: 0, median: nothing, p95: nothing, p99: nothing, mean: nothing }

function boundsOf(measured: Measured): readonly Bound[] {
  const ours = summaryOf(measured, product.name, changes)
  const cpu = measured.lanes.find(({ name }) => name === product.name)?.cpu ?? Number.NaN
  const peerP99 = summaryOf(measured, sqlCipher, changes).p99
  return [
    ...bounded.flatMap((command) => commandBounds(measured, command)),
    known(`a change, p99, × the p99 of ${sqlCipher}`, ours.p99 / peerP99, (subject, value) =>
      atMost(subject, value, 1.5, ratio),
    ),
    atMost('a change, processor time of the whole process', cpu, 0.8, milliseconds),
  ]
}

const gainSubjects: readonly (readonly [string, readonly CommandName[]])[] = [
  ['a change', changes],
  ['a view', ['view']],
]

function gainsOf(measured: Measured): readonly Gain[] {
  const peers = measured.lanes.filter(({ name }) => name !== product.name && name !== append.name)
  return peers.flatMap((lane) =>
    gainSubjects.map(([subject, names]) => {
      const ours = summaryOf(measured, product.name, names).median
      return { peer: lane.name, subject, times: lane.of(names).median / ours }
    }),
  )
}

/** What the median of a create consists of; the parts were measured one by one. */
function makeUp(measured: Measured, { append: sync, envelope, signature }: Limits): string {
  const { median } = summaryOf(measured, product.name, ['create'])
  const rest = median - sync - signaturesEach * signature - envelopesEach * envelope
  const part = (value: number) => `${milliseconds(value)} (${percent(value / median)})`
  return (
    `A create of ${milliseconds(median)} is made of: a synced append of 1.5 kB ${part(sync)}; ` +
    `${signaturesEach} signatures ${part(signaturesEach * signature)}; ${envelopesEach} ` +
    'envelopes ' +
    `${part(envelopesEach * envelope)}; and ${part(rest)} for the rest: planning, trees, hashes ` +
    'and the commit, the lock, the frame of the journal, and what packing and garbage ' +
    'collection take from the same processors. SQLCipher signs nothing and keeps no trees.'
  )
}

function commandBounds(measured: Measured, command: CommandName): readonly Bound[] {
  const median = (name: string) => summaryOf(measured, name, [command]).median
  const [ours, floor] = [median(product.name), median(append.name)]
  const beside =
    floor >= slowAppendMs
      ? atMost(`${command}, × ${append.name}`, ours / floor, 2, ratio)
      : atMost(`${command}, more than ${append.name}`, ours - floor, 0.3, milliseconds)
  return [
    beside,
    known(`${command}, × ${sqlCipher}`, ours / median(sqlCipher), (subject, value) =>
      atMost(subject, value, 1.8, ratio),
    ),
    atMost(`${command}, × ${plainFiles.name}`, ours / median(plainFiles.name), 0.7, ratio),
    atLeast(`${command}, times faster than git`, median(gitCommit.name) / ours, 25, ratio),
  ]
}

/** A peer that is not installed leaves a bound that nobody has measured. */
function known(
  subject: string,
  value: number,
  judge: (subject: string, value: number) => Bound,
): Bound {
  if (!Number.isNaN(value)) return judge(subject, value)
  return unmeasured(subject, judge(subject, value).wanted, 'not installed')
}

/** Blank if there is nothing to compare with. */
function times(value: number): string {
  return Number.isNaN(value) ? '' : ratio(value)
}

function commandsTable(measured: Measured, { scale }: RunContext): Table {
  const kinds: readonly (readonly [string, readonly CommandName[]])[] = [
    ...changes.map((name) => [name, [name]] as const),
    ['any change', changes],
    ['view', ['view']],
  ]
  const rows = kinds.map(([what, names]) => {
    const ours = summaryOf(measured, product.name, names)
    const median = (name: string) => summaryOf(measured, name, names).median
    // An append has nothing to show.
    const floor = what === 'view' ? Number.NaN : median(append.name)
    return [
      what,
      milliseconds(ours.median),
      milliseconds(ours.p99),
      times(ours.median / floor),
      Number.isNaN(floor) ? '' : milliseconds(ours.median - floor),
      times(ours.median / median(sqlCipher)),
      times(ours.median / median(plainFiles.name)),
      times(median(gitCommit.name) / ours.median),
      digits(ours.n),
    ]
  })
  const { rounds, mixed } = scale
  return {
    title: `Mixed commands on ${digits(mixed.memories)} memories`,
    columns: [
      'gitlocket',
      'median',
      'p99',
      '× append',
      '– append',
      '× SQLCipher',
      '× SDK tool',
      '× faster than git',
      'n',
    ],
    rows,
    notes: [
      'One command at a time, as the memory tool is given them: 40 % views, 30 % str_replace, ' +
        '12 % create, 8 % insert, 6 % delete, 4 % rename. Memories are one to four directories ' +
        'deep; their sizes are log-normal, with a median of 1 kB and a sigma of 1. The ' +
        `contenders take turns of ${digits(mixed.commandsPerTurn)} commands, ${rounds} rounds ` +
        'after one that does not count. What is packed while commands are given is in their ' +
        'times; the rest of what a contender does in the background is finished before the next ' +
        'one begins.',
    ],
  }
}

function contendersTable(measured: Measured, kinds: readonly ContenderKind[]): Table {
  const floor = summaryOf(measured, append.name, changes).median
  const rows = measured.lanes.map((lane) => {
    const { n, median, p99 } = lane.of(changes)
    const worst = n < p99SamplesMin ? '' : milliseconds(p99)
    const cpu = lane.pace === 'fast' ? milliseconds(lane.cpu) : ''
    return [lane.name, ratio(median / floor), milliseconds(median), worst, cpu, digits(n)]
  })
  const missing = measured.absent.map(({ name, reason }) => [name, reason, '', '', '', '0'])
  const lines = kinds.filter(({ remark }) => remark !== '')
  return {
    title: 'A change of any kind, by each contender',
    columns: ['', '× append', 'median', 'p99', 'CPU', 'n'],
    rows: [...rows, ...missing],
    plot: {
      name: 'mixed',
      title: 'One durable change, median, ms (lower is better)',
      bars: measured.lanes.map((lane) => ({
        label: lane.name,
        value: lane.of(changes).median,
        ours: lane.name === product.name,
      })),
      format: milliseconds,
    },
    notes: [
      'The changes of the same run. CPU is the processor time of the whole process for one ' +
        'change: all threads, packing and garbage collection, and the views between the changes.',
      lines.map(({ name, remark }) => `- ${name}: ${remark}`).join('\n'),
    ],
  }
}
