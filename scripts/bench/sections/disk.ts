// What lies on the disk: of a new store, open and closed, and of one change, field by field.

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openStore } from 'gitlocket'
import { contenderOf, createBenchStore } from '../contenders/product.ts'
import { accountOf, type Part } from '../pack-account.ts'
import { atMost, type Section, type Table } from '../report.ts'
import type { RunContext } from '../run-context.ts'
import { bytes, digits, percent } from '../statistics.ts'
import { noteText, revisionLine, seededChoice } from '../workload.ts'

const [memories, changes] = [1000, 500]
const path = (index: number) => `/memories/${Math.floor(index / 100)}/${index % 100}.md`
/** Until the store has packed what it wrote, and written its caches. */
const idleMs = 3000
const closedMax = 4e6

export async function measureDisk(context: RunContext): Promise<Section> {
  context.log(`bytes of a new store with ${memories} memories, and of a change`)
  const root = context.directory('disk')
  const { store, places } = await createBenchStore(root)
  const created = contenderOf(store)
  const choose = seededChoice('disk')
  for (let index = 0; index < memories; index += 1) {
    await created.run({ command: 'create', path: path(index), file_text: noteText(choose) })
  }
  const busy = sizesOf(root)
  await wait(idleMs)
  const idle = sizesOf(root)
  await store.close()
  const closed = sizesOf(root)
  const again = await openStore(places)
  const changed = contenderOf(again)
  const [old_str, new_str] = [revisionLine(0), revisionLine(1)]
  for (let index = 0; index < changes; index += 1) {
    await changed.run({ command: 'str_replace', path: path(index), old_str, new_str })
  }
  await again.close()
  const parts = accountOf(places.directory, changes)
  const each = parts.reduce((sum, { packed }) => sum + packed, 0)
  return {
    bounds: [
      atMost(
        `disk of a new store, ${digits(memories)} memories, closed`,
        total(closed),
        closedMax,
        bytes,
      ),
    ],
    tables: [storeTable([busy, idle, closed]), changeTable(parts, each)],
  }
}

/** Allocated bytes by kind of file, and those that the files say that they have. */
interface Sizes {
  readonly allocated: ReadonlyMap<string, number>
  readonly apparent: number
}

const kinds: readonly (readonly [string, RegExp])[] = [
  ['packs', /\.pack$/],
  ['their indexes', /\.(?:idx|rev|midx)$/],
  ['journal', /\/journal-/],
  ['caches', /\/cache\//],
  ['all else', /./],
]

function sizesOf(root: string): Sizes {
  const allocated = new Map<string, number>(kinds.map(([kind]) => [kind, 0]))
  let apparent = 0
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const { blocks, size } = lstatSync(join(root, name))
    const [kind = ''] = kinds.find(([, pattern]) => pattern.test(name)) ?? []
    allocated.set(kind, (allocated.get(kind) ?? 0) + 512 * blocks)
    apparent += size
  }
  return { allocated, apparent }
}

function total({ allocated }: Sizes): number {
  return [...allocated.values()].reduce((sum, value) => sum + value, 0)
}

function storeTable(states: readonly Sizes[]): Table {
  const rows = kinds.map(([kind]) =>
    [kind].concat(states.map(({ allocated }) => bytes(allocated.get(kind) ?? 0))),
  )
  return {
    title: `Disk of a new store, ${digits(memories)} memories of 1 kB`,
    columns: ['', 'while it is written', 'idle', 'closed'],
    rows: [
      ...rows,
      ['allocated in all', ...states.map((state) => bytes(total(state)))],
      ['as the files say', ...states.map(({ apparent }) => bytes(apparent))],
    ],
    notes: [
      'Created one by one by one process. Allocated: the blocks of all files and directories, ' +
        'those of the state outside the store too. The journal is written over zeros: a busy ' +
        'store keeps up to 3 MiB of them in each of its two files, an idle one 64 KiB.',
    ],
  }
}

function changeTable(parts: readonly Part[], each: number): Table {
  return {
    title: 'Each byte of a change',
    columns: ['object', 'field', 'bytes', 'on disk', 'share'],
    rows: [
      ...parts.map(({ object, field, raw, packed }) => [
        object,
        field,
        raw === undefined ? '' : digits(raw),
        digits(packed),
        percent(packed / each),
      ]),
      ['in all', '', '', digits(each), percent(1)],
    ],
    notes: [
      `Means over ${changes} replacements in as many memories of 1 kB, counted in the packs of a ` +
        'closed store. Bytes: as the object has them. ' +
        'On disk: what the entry of the pack takes, of which text in base64 is the part that ' +
        'zlib leaves of it. Ciphertext does not get smaller, and contents are not compressed ' +
        'before they are sealed: a host that sees sizes would learn from them ' +
        '([decision 33](decisions/0033-no-compression.md)).',
    ],
    plot: {
      name: 'change',
      title: 'Bytes of a change on disk',
      bars: parts.map(({ object, field, packed }) => ({
        label: `${object}: ${field}`,
        value: packed,
        ours: true,
      })),
      format: digits,
    },
  }
}
