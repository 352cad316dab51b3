// Commands in a process of their own, as a shell starts them, beside a process of Node.js that does
// nothing.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatIdentity } from 'gitlocket'
import { contenderOf, createBenchStore, type Places } from '../contenders/product.ts'
import { commandLine, run } from '../machine.ts'
import { atMost, type Section } from '../report.ts'
import { takeTurns, timed } from '../rounds.ts'
import type { RunContext } from '../run-context.ts'
import { digits, milliseconds, ratio, summarize, type Summary } from '../statistics.ts'
import { noteText, seededChoice } from '../workload.ts'

const memories = 100
/** Of a process, × `node -e 0`. */
const bounds: Readonly<Record<string, number>> = {
  'gitlocket --version': 1.3,
  'gitlocket cat': 2.5,
  'gitlocket ls': 2.5,
  'gitlocket create': 3,
}
export const nothing = 'node -e 0'

/** Words of a command line; different ones each time, if they must be. */
type Words = () => readonly string[]

export async function measureProcesses(context: RunContext): Promise<Section> {
  const { processes } = context.scale
  context.log(`commands in new processes, ${processes} times each`)
  const directory = context.directory('processes')
  const { store, places } = await createBenchStore(directory)
  const choose = seededChoice('processes')
  const notes = Array.from({ length: memories }, (_, index) => ({
    path: `${index % 10}/${index}.md`,
    text: noteText(choose),
  }))
  await contenderOf(store).fill(notes)
  await store.close()
  let created = 0
  const measured = await compareCommands(places, directory, processes, {
    'gitlocket --version': () => ['--version'],
    'gitlocket cat': () => ['cat', '/0/0.md'],
    'gitlocket ls': () => ['ls', '/'],
    'gitlocket create': () => ['create', `/new/${(created += 1)}.md`, '-'],
  })
  const start = medianOf(measured, nothing)
  const rows = [...measured].map(([name, { median, p95, n }]) => [
    name,
    ratio(median / start),
    milliseconds(median),
    milliseconds(p95),
    digits(n),
  ])
  const format = milliseconds
  const bars = [...measured].map(([label, { median: value }]) => {
    return { label, value, ours: label !== nothing }
  })
  return {
    bounds: Object.entries(bounds).map(([name, limit]) => {
      return atMost(`${name}, × ${nothing}`, medianOf(measured, name) / start, limit, ratio)
    }),
    tables: [
      {
        title: 'A new process',
        columns: ['', `× ${nothing}`, 'median', '95th percentile', 'n'],
        rows,
        notes: [
          `A store of ${memories} memories of 1 kB, with its caches. By turns, from the start of ` +
            'the process to its end; its files are in the cache of the system. `create` gets ' +
            '1 kB from its standard input, and is on disk and packed when it ends.',
        ],
        plot: { name: 'processes', title: 'A new process, median, ms', bars, format },
      },
    ],
    reasons: [makeUp(measured)],
  }
}

/** What a new process consists of, by the differences of the commands. */
function makeUp(measured: ReadonlyMap<string, Summary>): string {
  const node = medianOf(measured, nothing)
  const version = medianOf(measured, 'gitlocket --version')
  const cat = medianOf(measured, 'gitlocket cat')
  const create = medianOf(measured, 'gitlocket create')
  return (
    `\`gitlocket cat\` in a new process takes ${milliseconds(cat)}: Node.js ` +
    `${milliseconds(node)}; the start of the program, as for \`--version\`, ` +
    `${milliseconds(version - node)}; and ${milliseconds(cat - version)} to load what opens a ` +
    'store, WebAssembly included, to open it and to read. `create` takes ' +
    `${milliseconds(create - cat)} more, for what writes, the synced record, and the pack that ` +
    'it leaves.'
  )
}

export function medianOf(measured: ReadonlyMap<string, Summary>, name: string): number {
  return measured.get(name)?.median ?? Number.NaN
}

/** By turns, with `node -e 0` as the first row; a first turn of each does not count. */
export async function compareCommands(
  { directory, stateDirectory, identity }: Places,
  home: string,
  count: number,
  commands: Readonly<Record<string, Words>>,
): Promise<ReadonlyMap<string, Summary>> {
  const config = join(home, '.config', 'gitlocket')
  mkdirSync(config, { recursive: true, mode: 0o700 })
  writeFileSync(join(config, 'identity'), formatIdentity(identity), { mode: 0o600 })
  const env = { GITLOCKET_STORE: directory, GITLOCKET_STATE_DIRECTORY: stateDirectory }
  const input = noteText(seededChoice('input'))
  const all: Readonly<Record<string, Words>> = { [nothing]: () => ['-e', '0'], ...commands }
  const lanes = Object.entries(all).map(([name, words]) => {
    const samples: number[] = []
    const take = async () => {
      const args = name === nothing ? words() : [commandLine, ...words()]
      samples.push(await timed(() => run(process.execPath, args, { cwd: home, env, input })))
    }
    return { name, every: 1, samples, take }
  })
  await takeTurns(lanes, 1)
  for (const { samples } of lanes) samples.length = 0
  await takeTurns(lanes, count)
  return new Map(lanes.map(({ name, samples }) => [name, summarize(samples)]))
}
