// What it costs that a store is closed, and that it is open: the first request to a store that the
// server has to open, and what the process holds while stores are open and idle.

import { type Life, lookAt, rest } from '../../load/server-process.ts'
import {
  fillStores,
  type Hosted,
  type HostedStore,
  newHosted,
  openStores,
  readMemory,
  serving,
} from '../hosted.ts'
import type { Section, Table } from '../report.ts'
import { timed } from '../rounds.ts'
import type { RunContext } from '../run-context.ts'
import { digits, mebibytes, milliseconds, summarize } from '../statistics.ts'

const few = 10
const many = 1_000
/** The first stores of a life, which also load and warm the server's code, do not count. */
const warmUpStores = 4
const readsWhenOpen = 10
const settleMs = 1_000
/** The server keeps more stores open by and by. */
const openingAttempts = 20

interface Reads {
  readonly memories: number
  readonly first: number[]
  readonly later: number[]
}

export async function measureStores(context: RunContext): Promise<Section> {
  const { closed, lives, idle } = context.scale.server
  context.log(`${idle} stores of ${few} memories, and ${closed} of ${digits(many)}`)
  const hosted = await newHosted(context, 'server-stores')
  const [small, large] = await serving(hosted, async () => [
    await fillStores(hosted.client, Math.max(idle, warmUpStores + closed), few),
    await fillStores(hosted.client, closed, many),
  ])
  const reads = [few, many].map((memories): Reads => ({ memories, first: [], later: [] }))
  const held: Held[] = []
  for (let life = 0; life < lives; life += 1) {
    await serving(hosted, () => readClosed(hosted, small, large, reads))
    held.push(await serving(hosted, () => holdOpen(hosted, small.slice(0, idle))))
  }
  return { bounds: [], tables: [readsTable(reads), heldTable(held)] }
}

async function readClosed(
  hosted: Hosted,
  small: readonly HostedStore[],
  large: readonly HostedStore[],
  [ofSmall, ofLarge]: readonly Reads[],
): Promise<void> {
  for (const store of small.slice(0, warmUpStores)) await readStore(hosted, store)
  for (const [index, store] of large.entries()) {
    await readStore(hosted, small[warmUpStores + index], ofSmall)
    await readStore(hosted, store, ofLarge)
  }
}

async function readStore(
  { client }: Hosted,
  store: HostedStore | undefined,
  reads?: Reads,
): Promise<void> {
  const [memory] = store?.memories ?? []
  if (memory === undefined) throw new Error('A store of the bench is empty')
  const read = () => timed(() => readMemory(client, memory))
  const first = await read()
  reads?.first.push(first)
  for (let n = 0; n < readsWhenOpen; n += 1) {
    const later = await read()
    reads?.later.push(later)
  }
}

interface Held {
  readonly before: Life
  readonly after: Life
  /** How many stores were open then. */
  readonly open: number
}

async function holdOpen(hosted: Hosted, stores: readonly HostedStore[]): Promise<Held> {
  await rest(settleMs)
  const before = lookAt(hosted.server.pid)
  let attempts = 0
  do {
    for (const store of stores) await readStore(hosted, store)
    attempts += 1
  } while (attempts < openingAttempts && openStores(hosted) < stores.length)
  await rest(settleMs)
  return { before, after: lookAt(hosted.server.pid), open: openStores(hosted) }
}

function readsTable(reads: readonly Reads[]): Table {
  const rows = reads.flatMap(({ memories, first, later }) =>
    [
      { what: 'closed', samples: first },
      { what: 'open', samples: later },
    ].map(({ what, samples }) => {
      const { median, p99, n } = summarize(samples)
      const name = `${digits(memories)} memories, ${what}`
      return [name, milliseconds(median), milliseconds(p99), digits(n)]
    }),
  )
  return {
    title: 'The server: a request to a store that is closed',
    columns: ['one memory is read', 'median', 'p99', 'n'],
    rows,
    notes: [
      'Closed: the first request to the store in this life of the server, which opens it with ' +
        'its caches; the files are in the cache of the system. Open: the requests after it. ' +
        `${warmUpStores} other stores come first in each life, and do not count.`,
    ],
  }
}

function heldTable(held: readonly Held[]): Table {
  const median = (of: (held: Held) => number) => summarize(held.map(of)).median
  const open = median((each) => each.open)
  return {
    title: 'The server: stores that are open and idle',
    columns: ['stores open', 'memory', 'file handles', 'n'],
    rows: [
      [
        '0',
        mebibytes(median(({ before }) => before.memory)),
        digits(median(({ before }) => before.handles)),
        digits(held.length),
      ],
      [
        digits(open),
        mebibytes(median(({ after }) => after.memory)),
        digits(median(({ after }) => after.handles)),
        digits(held.length),
      ],
    ],
    notes: [
      `Stores of ${few} memories of 1 kB. Memory is \`VmRSS\` of the process, a second after the ` +
        'last request, garbage that was not collected yet included; stores are open of which ' +
        'the process holds a file. Medians of as many lives of the server.',
    ],
  }
}
