// What two forks of a forged history have between them, worked out plainly from the lists of their
// entries: who has a commit that the other has not has changed what its rows name.

import { compareBytes } from '../../src/bytes.ts'
import { writesVersions } from '../../src/format/record-rules.ts'
import type { Oid } from '../../src/git/objects/object.ts'
import type { Chain, Entry, MemoryState } from './forge-fault.ts'

/** A forged history, as far as a merge looks at it. */
interface Fork {
  readonly entries: readonly Entry[]
  readonly memories: ReadonlyMap<string, MemoryState>
  readonly chains: ReadonlyMap<string, Chain>
}

export interface MergedForks extends Fork {
  /** By ascending record hash. */
  readonly parents: readonly Entry[]
  /** The bases of the rows that are due. */
  readonly open: ReadonlyMap<string, { readonly base: string; readonly secondBase: string }>
  readonly keyringIsTheirs: boolean
}

export function mergeForks(ours: Fork, theirs: Fork): MergedForks {
  const ourNews = difference(ours.entries, theirs.entries)
  const theirNews = difference(theirs.entries, ours.entries)
  const parents = [...ours.entries.slice(-1), ...theirs.entries.slice(-1)].toSorted((a, b) =>
    compareBytes(a.hash, b.hash),
  )
  const isOursFirst = parents[0] === ours.entries.at(-1)
  const memories = new Map(ours.memories)
  const open = new Map<string, { base: string; secondBase: string }>()
  const changedHere = memoriesOf(ourNews)
  for (const memoryId of memoriesOf(theirNews)) {
    const [our, their] = [ours.memories.get(memoryId), theirs.memories.get(memoryId)]
    if (their === undefined) continue
    if (our === undefined || !changedHere.has(memoryId)) memories.set(memoryId, their)
    else {
      const [first, second] = isOursFirst ? [our, their] : [their, our]
      open.set(memoryId, { base: first.versionId, secondBase: second.versionId })
    }
  }
  const chains = new Map(ours.chains)
  for (const { record } of theirNews) {
    const chain = theirs.chains.get(record.deviceId)
    if (chain !== undefined) chains.set(record.deviceId, chain)
  }
  const entries = [...ours.entries, ...theirNews]
  const newest = newestWith(entries, 'keyring')
  const keyringIsTheirs = newest !== undefined && theirNews.includes(newest)
  return { entries, memories, chains, parents, open, keyringIsTheirs }
}

/** The keyring or settings blob of the newest record that brought one, as a merge has to choose. */
export function fileInForce(entries: readonly Entry[], name: 'keyring' | 'settings'): Oid {
  return newestWith(entries, name)?.[name] ?? ''
}

function newestWith(entries: readonly Entry[], name: 'keyring' | 'settings'): Entry | undefined {
  const bringing = entries.filter(({ record }) => {
    return record.kind === 'genesis' || record.kind === name
  })
  const [newest] = bringing.toSorted((a, b) => {
    return b.record.height - a.record.height || compareBytes(b.hash, a.hash)
  })
  return newest
}

export function inOrder<T>(rows: readonly T[], keyOf: (row: T) => string): readonly T[] {
  return rows.toSorted((a, b) => {
    const [first, second] = [keyOf(a), keyOf(b)]
    if (first === second) return 0
    return first < second ? -1 : 1
  })
}

function difference(entries: readonly Entry[], others: readonly Entry[]): readonly Entry[] {
  const known = new Set(others.map(({ oid }) => oid))
  return entries.filter(({ oid }) => !known.has(oid))
}

function memoriesOf(entries: readonly Entry[]): ReadonlySet<string> {
  const changes = entries.filter(({ record }) => writesVersions(record))
  return new Set(changes.flatMap(({ record }) => record.rows.map((row) => row.memoryId)))
}
