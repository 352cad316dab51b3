// Parses the command line of the bench, and defines the work of each mode. Must not measure.

import { parseArgs } from 'node:util'

/** The sizes of the histories and the number of repetitions. */
export interface Scale {
  readonly mode: 'small' | 'default' | 'full'
  /** Rounds of the hot loop and commands in each turn; changes of the occasional writer. */
  readonly rounds: number
  readonly commands: number
  readonly occasional: number
  /** New processes of each command, and transfers of one change. */
  readonly processes: number
  readonly long: HistorySize
  /** The history of a fresh sandbox. */
  readonly sandbox: HistorySize
  /** The commits of the histories with these memories that sandboxes begin without. */
  readonly flat: readonly number[]
  /** How far back the redaction and the rollback go. */
  readonly recent: number
  /** Changes in each of two clones that diverge. */
  readonly apart: number
  readonly search: number
  /** Versions of the store whose memory is measured; 0 for none. */
  readonly versions: number
}

export interface HistorySize {
  readonly memories: number
  readonly commits: number
}

const scales: Readonly<Record<Scale['mode'], Scale>> = {
  small: {
    mode: 'small',
    rounds: 5,
    commands: 200,
    occasional: 20,
    processes: 5,
    long: { memories: 500, commits: 5000 },
    sandbox: { memories: 200, commits: 2000 },
    flat: [100, 10_000],
    recent: 500,
    apart: 100,
    search: 1000,
    versions: 0,
  },
  default: {
    mode: 'default',
    rounds: 12,
    commands: 800,
    occasional: 200,
    processes: 20,
    long: { memories: 10_000, commits: 100_000 },
    sandbox: { memories: 2000, commits: 20_000 },
    flat: [1000, 20_000, 100_000],
    recent: 10_000,
    apart: 1000,
    search: 10_000,
    versions: 0,
  },
  full: {
    mode: 'full',
    rounds: 48,
    commands: 800,
    occasional: 500,
    processes: 60,
    long: { memories: 10_000, commits: 100_000 },
    sandbox: { memories: 2000, commits: 20_000 },
    flat: [1000, 20_000, 100_000],
    recent: 10_000,
    apart: 1000,
    search: 10_000,
    versions: 1_000_000,
  },
}

export const sectionNames = [
  'writes',
  'reads',
  'processes',
  'sync',
  'history',
  'server',
  'flat',
  'web',
] as const
export type SectionName = (typeof sectionNames)[number]

export interface Options {
  readonly scale: Scale
  readonly sections: readonly SectionName[]
  /** Where the scratch directory is made; the system's temporary directory if undefined. */
  readonly directory: string | undefined
  /** A directory that keeps the npm peer between runs. */
  readonly peers: string | undefined
  /** The file of the page; if undefined, it is only printed. */
  readonly output: string | undefined
  /** The command that repeats this run. */
  readonly command: string
  /** With --quick, the build to compare with. */
  readonly against: string | undefined
}

export const usage = `npm run bench [-- options]
  --quick            three minutes: this build and another one by turns over the main rows; exits
                     with 1 if one of them is worse beyond the noise
  --against <build>  for --quick: a git revision, or a directory that holds a build; by default the
                     last commit
  --small            a few minutes, a small history; prints and writes no file
  --full             more samples of everything, and a store with a million versions
  --only <sections>  some of ${sectionNames.join(',')}; prints and writes no file
  --directory <dir>  where to work, on the disk to be measured
  --peers <dir>      keep the npm peer here between runs
  --output <file>    write the page here`

const documentPath = 'docs/BENCHMARKS.md'

/** Throws a TypeError that names the invalid option. */
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
  const isWhole = mode !== 'small' && values.only === undefined
  return {
    scale: scales[mode],
    sections: values.only === undefined ? sectionNames : values.only.split(',').map(sectionName),
    directory: values.directory,
    peers: values.peers,
    output: values.output ?? (isWhole ? documentPath : undefined),
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
