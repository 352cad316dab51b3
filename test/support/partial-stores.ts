// Stores with a part of a history, and the packs that bring one.

import { join } from 'node:path'
import { concatBytes } from '../../src/bytes.ts'
import {
  createDiskObjectStore,
  type DiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import { createMemoryObjectStore } from '../../src/git/memory-store/memory-object-store.ts'
import type { Transition } from '../../src/git/object-store.ts'
import { inChunks } from './raw-pack.ts'
import { temporaryDirectory } from './temporary.ts'
import { receivePack } from './transfer.ts'

/** The commits of these transitions from one number to another, with all trees and blobs. */
export async function partialPack(
  transitions: readonly Transition[],
  from: number,
  tip: number = transitions.length - 1,
): Promise<Uint8Array> {
  const source = createMemoryObjectStore()
  await source.exclusive(() => source.commit(transitions))
  const sent = new Set(transitions.slice(from, tip + 1).map(({ next }) => next))
  const objects = transitions.flatMap((one) => one.objects)
  const chosen = objects.filter(({ oid, type }) => type !== 'commit' || sent.has(oid))
  const pack = await source.exchange.pack(chosen.map(({ oid }) => oid))
  const chunks: Uint8Array[] = []
  for await (const chunk of pack.chunks()) chunks.push(chunk)
  return concatBytes(...chunks)
}

export interface PartialStore {
  readonly directory: string
  readonly store: DiskObjectStore
}

/** An open store whose history ends at the commit of that number. */
export async function partialStore(
  transitions: readonly Transition[],
  from: number,
): Promise<PartialStore> {
  const directory = join(temporaryDirectory(), 'store')
  const store = await createDiskObjectStore({ directory, mayBeShallow: true, idleMs: Infinity })
  const [end = '', next = ''] = [transitions[from]?.next, transitions.at(-1)?.next]
  const boundary = { before: [], haves: [], shallow: [end], unshallow: [] }
  const pack = await partialPack(transitions, from)
  await receivePack(store.exchange, inChunks(pack, 1000), { tip: next, boundary })
  await store.exclusive(() => store.commit([{ objects: [], expected: undefined, next }]))
  return { directory, store }
}
