// gitlocket itself, through its public interface alone, except that the disk under it is counted.

import { join } from 'node:path'
import {
  type CreateOptions,
  createStore,
  generateIdentity,
  type MemoryStore,
  type Random,
} from 'gitlocket'
import { type MemoryToolHandlers, memoryToolHandlers } from 'gitlocket/anthropic'
// Internal: only the owner of the disk can say how often it was told to sync.
import { type Disk, systemDisk } from '../../../dist/disk/disk.js'
import type { NewNote } from '../commands.ts'
import type { Contender, ContenderKind } from './contender.ts'

/** Commands that wait together, and so share an fdatasync. */
const atOnce = 128

export const product: ContenderKind = {
  name: 'gitlocket',
  pace: 'fast',
  every: 1,
  remark: 'encrypted, signed, one commit per command; through `memoryToolHandlers`',
  start: async (directory) => {
    const { store } = await createBenchStore(directory)
    return { ...contenderOf(store), close: () => store.close() }
  },
}

/** An open store, which stays open. */
export function contenderOf(store: MemoryStore): Contender {
  const handlers = handlersOf(store)
  return {
    fill: (notes) => fillStore(store, notes),
    run: (command) => handlers[command.command](command),
    settle: () => store.maintenance.checkpoint(),
    close() {},
  }
}

async function fillStore(store: MemoryStore, notes: Iterable<NewNote>): Promise<void> {
  const writer = store.as({ actor: { type: 'session', id: 'bench' }, session: 'bench' })
  const all = [...notes]
  for (let done = 0; done < all.length; done += atOnce) {
    const burst = all.slice(done, done + atOnce)
    await Promise.all(
      burst.map(({ path, text }) =>
        writer.apply([{ type: 'create', path: `/${path}`, content: text }]),
      ),
    )
  }
}

/** As any caller's, and what tests replace. */
export type BenchOptions = Partial<CreateOptions> & {
  readonly disk?: Disk
  readonly random?: Random
}

/** A new store below `directory`, its state beside it. */
export async function createBenchStore(
  directory: string,
  options: BenchOptions = {},
): Promise<{ readonly store: MemoryStore; readonly places: Places }> {
  const identity = await generateIdentity(options.random)
  const places = {
    directory: join(directory, 'store'),
    stateDirectory: join(directory, 'state'),
    identity,
  }
  const limits = { memories: 1_000_000 }
  const { store } = await createStore({ limits, ...options, ...places })
  return { store, places }
}

export type Places = Pick<CreateOptions, 'directory' | 'stateDirectory' | 'identity'>

export function handlersOf(store: MemoryStore, session = 'bench'): MemoryToolHandlers {
  return memoryToolHandlers(store, { session })
}

export interface DiskCounts {
  /** fdatasync and fsync calls of this thread. */
  syncs: number
  /** Checkpoints: each moves the branch once. */
  branchMoves: number
}

/** The real disk, counted. A checkpoint's worker thread has a disk of its own. */
export function countedDisk(): { readonly disk: typeof systemDisk; readonly counts: DiskCounts } {
  const counts: DiskCounts = { syncs: 0, branchMoves: 0 }
  const disk: typeof systemDisk = {
    ...systemDisk,
    sync(fd, isHere) {
      counts.syncs += 1
      return systemDisk.sync(fd, isHere)
    },
    syncDirectory(path) {
      counts.syncs += 1
      return systemDisk.syncDirectory(path)
    },
    rename(from, to) {
      if (to.endsWith('/refs/heads/main')) counts.branchMoves += 1
      systemDisk.rename(from, to)
    },
  }
  return { disk, counts }
}
