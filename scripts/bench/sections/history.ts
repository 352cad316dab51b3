// What a long history and many memories cost: writes, opens, the history of one memory, a view of
// everything, bytes on disk. Owns the order, since its copy of the store changes on the way.

import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node'
import { type MemoryStore, openStore } from 'gitlocket'
import { changes, Commands } from '../commands.ts'
import { contenderOf, createBenchStore, handlersOf } from '../contenders/product.ts'
import { Lane } from '../lane.ts'
import { fillPlainFiles } from '../long-history.ts'
import { atMost, type Section, type Table } from '../report.ts'
import { takeTurns } from '../rounds.ts'
import { lastMemory, type OriginalSite, type Site, withCopy } from '../site.ts'
import { bytes, digits, ratio } from '../statistics.ts'
import { measureOneMemory } from './one-memory.ts'
import { measureOpens, measureWithoutCaches } from './opens.ts'
import { cells, compareViews } from './views.ts'

export async function measureHistory(original: OriginalSite): Promise<Section> {
  return withCopy(original, (site) => measureAll(site, original))
}

async function measureAll(site: Site, { firstQuestion }: OriginalSite): Promise<Section> {
  const disk = describeDisk(site)
  const opens = await measureOpens(site)
  // Before anything is written.
  const memory = await lastMemory(site)
  const { directory, stateDirectory, identity } = site.history.places
  const store = await openStore({ directory, stateDirectory, identity })
  const oneMemory = await measureOneMemory(site, store, { ...memory, firstQuestion })
  const writes = await measureWrites(site, store)
  const root = await measureRoot(site, store)
  await store.close()
  const rows = measureWithoutCaches(site)
  const sections = [writes, opens, oneMemory, root, disk]
  return {
    bounds: sections.flatMap(({ bounds }) => bounds),
    tables: [...sections.flatMap(({ tables }) => tables), informative(rows)],
  }
}

function describeDisk({ context, history, size }: Site): Section {
  const { commits, memories } = context.scale
  const each = (history.bytesAfter - history.bytesBefore) / (commits - memories)
  const rows = [
    ['each change of 1 kB', bytes(each), digits(commits - memories)],
    ['all objects', bytes(history.bytesAfter), digits(commits)],
  ]
  const notes = [
    'Objects after a checkpoint, packs as the store itself merges them; the table above says ' +
      'what a change is made of. Caches, which can be deleted, are not counted.',
  ]
  return {
    bounds: [atMost(`disk per 1 kB change ${size}`, each, 3200, bytes)],
    tables: [{ title: `Disk ${size}`, columns: ['', 'bytes', 'changes'], rows, notes }],
  }
}

async function measureWrites(
  { context, history, size }: Site,
  store: MemoryStore,
): Promise<Section> {
  const { rounds, mixed } = context.scale
  context.log(`writes ${size} beside a new store`)
  const { store: fresh } = await createBenchStore(context.directory('fresh'))
  const lane = (name: string, target: MemoryStore, commands: Commands) => {
    const kind = { name, every: 1, pace: 'fast' } as const
    return new Lane(kind, contenderOf(target), mixed.commandsPerTurn, commands)
  }
  const commands = new Commands()
  await contenderOf(fresh).fill(commands.fill(mixed.memories))
  const young = lane('a new store', fresh, commands)
  const old = lane(size, store, new Commands(history.notes))
  for (const each of [young, old]) await each.warmUp(1)
  await takeTurns([young, old], rounds)
  await fresh.close()
  const rows = [
    ['a new store', ...cells(young.of(changes), young.of(changes))],
    [size, ...cells(old.of(changes), young.of(changes))],
  ]
  const times = old.of(changes).median / young.of(changes).median
  return {
    bounds: [atMost(`a change ${size}, × a new store`, times, 1.3, ratio)],
    tables: [
      {
        title: 'Changes after a long history',
        columns: ['', '× new store', 'median', 'p99', 'n'],
        rows,
        notes: [`Mixed commands as above; the new store has ${digits(mixed.memories)} memories.`],
      },
    ],
  }
}

async function measureRoot({ context, size }: Site, store: MemoryStore): Promise<Section> {
  const { memories, rootViews } = context.scale
  context.log(`views of the root of ${memories} memories`)
  const plain = context.directory('history/plain')
  fillPlainFiles(plain, memories)
  const tool = await BetaLocalFilesystemMemoryTool.init(plain)
  const handlers = handlersOf(store)
  const { ours, theirs } = await compareViews(
    (path) => handlers.view({ command: 'view', path }),
    (path) => tool.view({ command: 'view', path }),
    () => '/memories',
    rootViews,
  )
  const rows = [
    ['gitlocket', ...cells(ours, theirs)],
    ['SDK plain-file tool', ...cells(theirs, theirs)],
  ]
  const title = `View of the root ${size}`
  const subject = 'view of the root, × the SDK tool'
  return {
    bounds: [atMost(subject, ours.median / theirs.median, 1 / 20, ratio)],
    tables: [{ title, columns: ['', '× SDK tool', 'median', 'p99', 'n'], rows, notes: [] }],
  }
}

function informative(rows: readonly (readonly string[])[]): Table {
  return { title: 'Without a bound', columns: ['', ''], rows, notes: [] }
}
