// Parses the command line of the bench, and defines the work of each mode. Must not measure.

import { parseArgs } from 'node:util'
import type { LaneOptions } from './lane.ts'
import type { HistorySize } from './long-history.ts'

/** The sizes of the histories and the number of repetitions. */
export interface Scale {
  readonly mode: 'small' | 'default' | 'full'
  /** Turns that contenders take; the slowest take each second of them. */
  readonly rounds: number
  readonly mixed: LaneOptions
  /** New processes of each command. */
  readonly processes: number
  readonly views: number
  readonly rootViews: number
  readonly commits: number
  readonly memories: number
  /** How many changes the reverts go back, and the nearer redaction. */
  readonly recent: number
  readonly opens: number
  /** Copies of the long history on which each rewrite is measured. */
  readonly rewrites: number
  /** How often one change is pushed, and fetched, in new processes and in one that stays. */
  readonly transfers: number
  /** Changes in each of two clones that diverge. */
  readonly apart: number
  readonly search: SearchScale
  readonly server: ServerScale
  /** A history for `git gc --aggressive`, which takes too long on the long one. */
  readonly small: HistorySize
}

export interface SearchScale {
  /** Stores of so many memories. */
  readonly memories: readonly number[]
  /** Warm searches of each kind, and new processes. */
  readonly searches: number
  readonly processes: number
}

export interface ServerScale {
  /** Turns of each that takes guarded updates. */
  readonly turns: number
  /** Stores of 1,000 memories, and as many of 10, each opened once in so many lives. */
  readonly closed: number
  readonly lives: number
  /** Stores of 10 memories that are open and idle. */
  readonly idle: number
  /** Of a store with few versions and of one with many: how many, and redactions of it. */
  readonly redactions: readonly {
    readonly versions: number
    readonly times: number
  }[]
  readonly loads: readonly {
    readonly stores: number
    readonly maxOpen: number
    readonly seconds: number
    readonly killEvery: number
  }[]
}

const scales: Readonly<Record<Scale['mode'], Scale>> = {
  small: {
    mode: 'small',
    rounds: 3,
    mixed: { commandsPerTurn: 640, slowCommandsPerTurn: 10, memories: 1_000 },
    processes: 5,
    views: 400,
    rootViews: 5,
    commits: 5_000,
    memories: 1_000,
    recent: 500,
    opens: 3,
    rewrites: 1,
    transfers: 2,
    apart: 100,
    search: { memories: [1_000], searches: 60, processes: 3 },
    server: {
      turns: 10,
      closed: 3,
      lives: 2,
      idle: 40,
      redactions: [
        { versions: 100, times: 5 },
        { versions: 1_000, times: 2 },
      ],
      loads: [
        { stores: 50, maxOpen: 200, seconds: 10, killEvery: 4 },
        { stores: 100, maxOpen: 20, seconds: 10, killEvery: 4 },
      ],
    },
    small: { commits: 1_000, memories: 100, recent: 0 },
  },
  default: {
    mode: 'default',
    rounds: 12,
    mixed: { commandsPerTurn: 1_600, slowCommandsPerTurn: 20, memories: 1_000 },
    processes: 25,
    views: 4_000,
    rootViews: 20,
    commits: 100_000,
    memories: 10_000,
    recent: 10_000,
    opens: 7,
    rewrites: 3,
    transfers: 10,
    apart: 1_000,
    search: { memories: [10_000, 100_000], searches: 400, processes: 7 },
    server: {
      turns: 100,
      closed: 10,
      lives: 3,
      idle: 200,
      redactions: [
        { versions: 100, times: 20 },
        { versions: 10_000, times: 3 },
      ],
      loads: [
        { stores: 50, maxOpen: 200, seconds: 120, killEvery: 20 },
        { stores: 1_000, maxOpen: 200, seconds: 120, killEvery: 20 },
      ],
    },
    small: { commits: 10_000, memories: 1_000, recent: 0 },
  },
  full: {
    mode: 'full',
    rounds: 48,
    mixed: { commandsPerTurn: 1_600, slowCommandsPerTurn: 40, memories: 1_000 },
    processes: 60,
    views: 20_000,
    rootViews: 60,
    commits: 100_000,
    memories: 10_000,
    recent: 10_000,
    opens: 20,
    rewrites: 5,
    transfers: 30,
    apart: 1_000,
    search: { memories: [10_000, 100_000], searches: 2_000, processes: 20 },
    server: {
      turns: 400,
      closed: 20,
      lives: 5,
      idle: 200,
      redactions: [
        { versions: 100, times: 40 },
        { versions: 10_000, times: 5 },
      ],
      loads: [
        { stores: 50, maxOpen: 200, seconds: 300, killEvery: 20 },
        { stores: 1_000, maxOpen: 200, seconds: 300, killEvery: 20 },
      ],
    },
    small: { commits: 20_000, memories: 2_000, recent: 0 },
  },
}

export const sectionNames = [
  'mixed',
  'concurrent',
  'views',
  'processes',
  'disk',
  'redaction',
  'revert',
  'verification',
  'compact',
  'stalls',
  'sync',
  'server',
  'search',
  'history',
] as const
export type SectionName = (typeof sectionNames)[number]

export interface Options {
  readonly scale: Scale
  readonly sections: readonly SectionName[]
  /** Where the scratch directory is made; the system's temporary directory if undefined. */
  readonly directory: string | undefined
  /** A directory that keeps the npm peer between runs. */
  readonly peers: string | undefined
  /** The file of the tables; if undefined, they are only printed. */
  readonly output: string | undefined
  /** The command that repeats this run. */
  readonly command: string
  /** With --quick, the build to compare with. */
  readonly against: string | undefined
}

export const usage = `npm run bench [-- options]
  --quick            three minutes: this build and another one by turns over the main rows; exits
                     with 1 if something got worse beyond the noise
  --against <build>  for --quick: a git revision, or a directory that holds a build; by default the
                     last commit
  --small            a few minutes, a small history; prints and writes no file
  --full             more samples of everything
  --only <sections>  some of ${sectionNames.join(',')}; prints and writes no file
  --directory <dir>  where to work, on the disk to be measured
  --peers <dir>      keep the npm peer here between runs
  --output <file>    write the tables here`

const documentPath = 'docs/BENCHMARKS.md'

/** Throws a TypeError that says what is wrong. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      against: { type: 'string', default: 'HEAD' },
      small: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      only: { type: 'string' },
      directory: { type: 'string' },
      peers: { type: 'string' },
      output: { type: 'string' },
    },
  })
  const modes = [values.quick, values.small, values.full].filter(Boolean)
  if (modes.length > 1) throw new TypeError('Give one of --quick, --small and --full')
  const mode = values.small ? 'small' : values.full ? 'full' : 'default'
  const whole = mode !== 'small' && values.only === undefined
  return {
    scale: scales[mode],
    sections: values.only === undefined ? sectionNames : values.only.split(',').map(sectionName),
    directory: values.directory,
    peers: values.peers,
    output: values.output ?? (whole ? documentPath : undefined),
    command: commandOf(mode, values.only),
    against: values.quick ? values.against : undefined,
  }
}

function sectionName(text: string): SectionName {
  const found = sectionNames.find((name) => name === text)
  if (found !== undefined) return found
  throw new TypeError(`There is no section ${text}: it is one of ${sectionNames.join(', ')}`)
}

function commandOf(mode: Scale['mode'], only: string | undefined): string {
  const flags = [
    ...(mode === 'default' ? [] : [`--${mode}`]),
    ...(only === undefined ? [] : [`--only ${only}`]),
  ]
  return ['npm run bench', ...(flags.length === 0 ? [] : ['--', ...flags])].join(' ')
}
