// The load test of `npm run load`, over stores that are all open and over more than may be open.

import { Load } from '../../load/load.ts'
import type { Life } from '../../load/server-process.ts'
import { newHosted } from '../hosted.ts'
import type { ServerScale } from '../options.ts'
import { atMost, type Bound, type Section, type Table } from '../report.ts'
import type { RunContext } from '../run-context.ts'
import { digits, mebibytes } from '../statistics.ts'

const clients = 64
/** MiB. */
const memoryMax = 512

type LoadScale = ServerScale['loads'][number]

interface Done {
  readonly scale: LoadScale
  readonly counts: Load['counts']
  readonly lives: readonly Life[]
}

export async function measureLoads(context: RunContext): Promise<Section> {
  const done: Done[] = []
  for (const scale of context.scale.server.loads) done.push(await measureLoad(context, scale))
  return { bounds: done.map(memoryBound), tables: [table(done)] }
}

/** Throws if a write is lost, or there twice, or was refused and is there, and for any fault. */
async function measureLoad(context: RunContext, scale: LoadScale): Promise<Done> {
  const { stores, maxOpen, seconds, killEvery } = scale
  context.log(`${clients} clients over ${digits(stores)} stores, ${seconds} s`)
  const options = ['--max-memory', `${memoryMax}M`, '--max-open', String(maxOpen)]
  const { client, server } = await newHosted(context, `server-load-${stores}`, options)
  const plan = { stores, clients, seconds, killEvery, seed: 'bench' }
  const load = new Load(plan, client, server)
  const problems = await load.run()
  if (problems.length > 0) throw new Error(`The load test failed:\n${problems.join('\n')}`)
  return { scale, counts: load.counts, lives: server.lives }
}

function nameOf({ scale: { stores, maxOpen } }: Done): string {
  const limit = stores > maxOpen ? `, ${digits(maxOpen)} open` : ''
  return `${digits(stores)} stores${limit}`
}

function mostMemory({ lives }: Done): number {
  return Math.max(...lives.map(({ memory }) => memory))
}

function memoryBound(done: Done): Bound {
  const subject = `memory of the server under load, ${nameOf(done)}`
  return atMost(subject, mostMemory(done), memoryMax, mebibytes)
}

const rows: readonly (readonly [string, (done: Done) => string])[] = [
  ['operations a second', (done) => digits(operations(done) / done.scale.seconds)],
  ['reads', ({ counts }) => digits(counts.reads)],
  ['guarded updates', ({ counts }) => digits(counts.updates)],
  ['races: refused, since another was faster', ({ counts }) => digits(counts.races)],
  ['updates that a kill left unanswered', ({ counts }) => digits(counts.lost)],
  ['kills', ({ lives }) => digits(lives.length - 1)],
  // Else there was no table.
  ['lost or doubled writes', () => '0'],
  ['faults', () => '0'],
  ['highest memory', (done) => mebibytes(mostMemory(done))],
  [
    'file handles of each life, at most',
    ({ lives }) => lives.map((life) => life.handles).join(' '),
  ],
]

function operations({ counts: { reads, updates, races } }: Done): number {
  return reads + updates + races
}

function table(done: readonly Done[]): Table {
  const [first] = done
  return {
    title: `The server: ${clients} clients while it is killed again and again`,
    columns: ['', ...done.map(nameOf)],
    rows: rows.map(([name, of]) => [name].concat(done.map(of))),
    notes: [
      `${first?.scale.seconds} s each, without the time that creates the stores, with the time ` +
        `that the server needs to start again; \`kill -9\` every ${first?.scale.killEvery} s. ` +
        'A client reads a memory, and half of the time changes it on condition of what it read; ' +
        'an eighth of the requests goes to the same four memories. In the end each memory and ' +
        'its versions are compared with what was acknowledged: the bench fails if anything is ' +
        'lost, or there twice, or if two updates of one state were acknowledged. It fails as ' +
        'well for any fault: an answer that is neither right nor a refused update. Memory is the ' +
        `highest \`VmRSS\`, seen every 100 ms, with \`--max-memory ${memoryMax}M\`.`,
    ],
  }
}
