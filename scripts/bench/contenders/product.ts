// gitlocket itself, through its public interface alone.

import { join } from 'node:path'
import {
  type CreateOptions,
  createStore,
  generateIdentity,
  type MemoryStore,
  type Random,
} from 'gitlocket'
import { memoryToolHandlers } from 'gitlocket/anthropic'
import type { NewNote } from '../commands.ts'
import type { Keeper, KeeperKind } from './notes.ts'

/** Commands that wait together, and so share an fdatasync. */
const atOnce = 128

export const product: KeeperKind = {
  name: 'gitlocket',
  start: async (directory) => {
    const { store } = await createBenchStore(directory)
    return { ...keeperOf(store), close: () => store.close() }
  },
}

/** An open store, which stays open. */
function keeperOf(store: MemoryStore): Keeper {
  const handlers = memoryToolHandlers(store, { session: 'bench' })
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
