// Histories of a store's shape for tests of the storage engine: commits over trees of opaque blobs,
// valid for `git fsck --strict`. The blobs stand for sealed envelopes and are the bytes of a seeded
// generator, so that every run makes the same objects.

import type { Sealed } from '../../src/bytes.ts'
import type { Transition } from '../../src/git/object-store.ts'
import {
  encodeTree,
  type NewObject,
  newObject,
  type Oid,
  type TreeEntry,
} from '../../src/git/objects/object.ts'

/** A small generator (mulberry32): bytes that look like ciphertext and never change. */
export function seededBytes(seed: number): (length: number) => Uint8Array {
  let state = seed
  return (length) =>
    Uint8Array.from({ length }, () => {
      state = (state + 0x6d2b79f5) | 0
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      return (mixed ^ (mixed >>> 14)) & 0xff
    })
}

export class TestHistory {
  readonly #random: (length: number) => Uint8Array
  /** Blobs by their two-level name below `m`. */
  readonly #files: Map<string, Map<string, Oid>> = new Map()
  readonly #known: Set<Oid> = new Set()
  readonly transitions: Transition[] = []
  head: Oid | undefined

  constructor(seed: number, head?: Oid) {
    this.#random = seededBytes(seed)
    this.head = head
  }

  /** A transition that writes one blob of `size` bytes at one of `memories` places. */
  next(size: number = 700, memories: number = 40): Transition {
    const objects: NewObject[] = []
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stands for an envelope
    const sealed = this.#random(size) as Sealed
    const blob = newObject('blob', sealed)
    objects.push(blob)
    this.#place(memories).set('file', blob.oid)
    const tree = this.#writeTrees(objects)
    const lines = [
      `tree ${tree}`,
      ...(this.head === undefined ? [] : [`parent ${this.head}`]),
      `author a <a@localhost> ${1_000_000_000 + this.transitions.length} +0000`,
      `committer a <a@localhost> ${1_000_000_000 + this.transitions.length} +0000`,
      '',
      'change',
      '',
    ]
    const commit = newObject('commit', Buffer.from(lines.join('\n')))
    objects.push(commit)
    const transition = { objects: this.#unseen(objects), expected: this.head, next: commit.oid }
    this.head = commit.oid
    this.transitions.push(transition)
    return transition
  }

  take(count: number): Transition[] {
    return Array.from({ length: count }, () => this.next())
  }

  #place(memories: number): Map<string, Oid> {
    const [a = 0, b = 0] = this.#random(2)
    const number = ((a << 8) | b) % memories
    const name = number.toString(16).padStart(8, '0')
    const directory = `${name.slice(-1)}${name}`
    const files = this.#files.get(directory) ?? new Map<string, Oid>()
    this.#files.set(directory, files)
    return files
  }

  #writeTrees(objects: NewObject[]): Oid {
    const write = (entries: TreeEntry[]): Oid => {
      const tree = newObject('tree', encodeTree(entries))
      objects.push(tree)
      return tree.oid
    }
    const directories = [...this.#files].map(([name, files]): TreeEntry => {
      const entries = [...files].map(([file, oid]): TreeEntry => ({
        mode: '100644',
        name: file,
        oid,
      }))
      return { mode: '40000', name, oid: write(entries) }
    })
    return write([{ mode: '40000', name: 'm', oid: write(directories) }])
  }

  #unseen(objects: readonly NewObject[]): NewObject[] {
    const fresh = objects.filter(({ oid }) => !this.#known.has(oid))
    for (const { oid } of fresh) this.#known.add(oid)
    return fresh
  }
}
