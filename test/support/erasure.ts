// A redaction as the storage engine sees it: a history made again without one blob, and the search
// for traces. The search reads every file of the repository as bytes, and trusts no index.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { ObjectStore, Transition } from '../../src/git/object-store.ts'
import {
  decodeTree,
  encodeTree,
  type NewObject,
  newObject,
  type Oid,
  type TreeEntry,
} from '../../src/git/objects/object.ts'

export interface Erasure {
  /** Moves the branch from the old history to the one without the blob. */
  readonly transition: Transition
  readonly dead: ReadonlySet<Oid>
  /** What the new history needs, old and new objects. */
  readonly live: readonly NewObject[]
  /** The blob's content. */
  readonly secret: Uint8Array
}

/** The options of object stores that erase something. */
export const testSecret: Uint8Array = new Uint8Array(32).fill(7)

/** Erases the blob that `transitions[index]` brought, from there on. */
export function eraseBlob(transitions: readonly Transition[], index: number): Erasure {
  const objects = new Map(transitions.flatMap((t) => t.objects.map((o) => [o.oid, o] as const)))
  const secret = transitions[index]?.objects.find(({ type }) => type === 'blob')
  if (secret === undefined) throw new Error('the transition brings no blob')
  const rewriter = new Rewriter(objects, secret.oid)
  const base = transitions[index]?.expected
  let next = base
  for (const { next: old } of transitions.slice(index)) next = rewriter.commit(old, next)
  if (next === undefined) throw new Error('nothing was made again')
  const { dead, made } = rewriter
  const live = [...objects.values()].filter(({ oid }) => !dead.has(oid))
  const transition = { objects: made, expected: transitions.at(-1)?.next, next, dead }
  return { transition, dead, live: [...live, ...made], secret: secret.body }
}

class Rewriter {
  readonly made: NewObject[] = []
  readonly dead: Set<Oid>
  readonly #objects: ReadonlyMap<Oid, NewObject>
  readonly #trees: Map<Oid, Oid | undefined> = new Map()

  constructor(objects: ReadonlyMap<Oid, NewObject>, secret: Oid) {
    this.#objects = objects
    this.dead = new Set([secret])
  }

  commit(old: Oid, parent: Oid | undefined): Oid {
    const text = Buffer.from(this.#body(old)).toString('latin1')
    const tree = this.#tree(/^tree (.{40})/.exec(text)?.[1] ?? '') ?? emptyTree(this.made)
    const lines = text.split('\n').filter((line) => !/^(tree|parent) /.test(line))
    const parents = parent === undefined ? [] : [`parent ${parent}`]
    return this.#replace(
      old,
      newObject('commit', Buffer.from([`tree ${tree}`, ...parents, ...lines].join('\n'))),
    )
  }

  /** Undefined if nothing is left of it. */
  #tree(old: Oid): Oid | undefined {
    if (this.#trees.has(old)) return this.#trees.get(old)
    const entries = decodeTree(this.#body(old))
    const kept = entries.flatMap((entry): TreeEntry[] => {
      const oid = entry.mode === '40000' ? this.#tree(entry.oid) : entry.oid
      return oid === undefined || this.dead.has(oid) ? [] : [{ ...entry, oid }]
    })
    const same =
      kept.every(({ oid }, n) => oid === entries[n]?.oid) && kept.length === entries.length
    const result = same ? old : this.#newTree(old, kept)
    this.#trees.set(old, result)
    return result
  }

  #newTree(old: Oid, entries: readonly TreeEntry[]): Oid | undefined {
    if (entries.length > 0) return this.#replace(old, newObject('tree', encodeTree(entries)))
    this.dead.add(old)
    return undefined
  }

  #replace(old: Oid, object: NewObject): Oid {
    this.dead.add(old)
    if (!this.#objects.has(object.oid)) this.made.push(object)
    return object.oid
  }

  #body(oid: Oid): Uint8Array {
    const object = this.#objects.get(oid)
    if (object === undefined) throw new Error(`the history lacks ${oid}`)
    return object.body
  }
}

function emptyTree(made: NewObject[]): Oid {
  const tree = newObject('tree', encodeTree([]))
  made.push(tree)
  return tree.oid
}

/** Neither the store nor any file of it has a trace of the erased objects. */
export function expectErased(
  directory: string,
  store: ObjectStore,
  { dead, secret }: Pick<Erasure, 'dead' | 'secret'>,
): void {
  expect([...dead].filter((oid) => store.read(oid) !== undefined)).toEqual([])
  expect([...store.objectIds()].filter((oid) => dead.has(oid))).toEqual([])
  expect(findTraces(directory, dead, secret)).toEqual([])
}

/** Every sealed blob of an epoch begins with the same header (FORMAT §3). */
const HEADER = 24

/** `<file>: <what>` for every dead oid, as text or bytes, and every piece of the blob in a file. */
function findTraces(directory: string, dead: ReadonlySet<Oid>, secret: Uint8Array): string[] {
  const starts = [0, 1, 2].map((n) => HEADER + n * 200)
  const pieces = starts.map((start) => Buffer.from(secret).subarray(start, start + 24))
  return readdirSync(directory, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile()) return []
    const path = join(entry.parentPath, entry.name)
    const bytes = readFileSync(path)
    const traces = [...dead].filter((oid) => {
      return bytes.includes(oid, 0, 'latin1') || bytes.includes(Buffer.from(oid, 'hex'))
    })
    const content = pieces.some((piece) => bytes.includes(piece)) ? ['content'] : []
    return [...traces, ...content].map((trace) => `${path}: ${trace}`)
  })
}
