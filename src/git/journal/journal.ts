// The journal of a store: the transitions that are not in packs yet. It alternates between two
// files, so that one is packed while the other is written; the lower generation is older. Owns
// which frames are live, the object map and the head. Must not know packs or locks.

import type { Random } from '../../crypto/random.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { journalPackBytes } from '../../limits.ts'
import type { Transition } from '../object-store.ts'
import { decodeTree, findLinks, type Oid } from '../objects/object.ts'
import { JournalFile, type JournalNews } from './journal-file.ts'
import { type Frame, type JournalObject, type NamedObject, saltBytes } from './journal-frame.ts'
import { journalNames } from './journal-survey.ts'

export interface JournalParts {
  readonly disk: Disk
  /** The store's own directory, `gitlocket/`. */
  readonly directory: string
  readonly random: Random
  /** Whether no other handle holds the writer lock. */
  readonly isQuiet: () => boolean
}

export class Journal {
  readonly #disk: Disk
  readonly #directory: string
  readonly #random: Random
  readonly #files: readonly [JournalFile, JournalFile]
  /** The commit of the branch from which the live frames continue. */
  #branch: Oid | undefined
  #live: Frame[] = []
  #objects: Map<Oid, JournalObject> = new Map()
  #prepared = false

  constructor({ disk, directory, random, isQuiet }: JournalParts) {
    this.#disk = disk
    this.#directory = directory
    this.#random = random
    const [a, b] = journalNames
    this.#files = [
      new JournalFile(disk, `${directory}/${a}`, isQuiet),
      new JournalFile(disk, `${directory}/${b}`, isQuiet),
    ]
  }

  /** The commit of the last live frame; undefined without one. */
  get head(): Oid | undefined {
    return this.#live.at(-1)?.next
  }

  get liveFrames(): readonly Frame[] {
    return this.#live
  }

  get bytes(): number {
    return this.#newer.bytes
  }

  /** Bytes in both files, including those being packed. */
  get totalBytes(): number {
    return this.#newer.bytes + this.#older.bytes
  }

  /** Whether what looks like damage may be a write in progress of another process. */
  get doubtful(): boolean {
    return this.#files.some((file) => file.doubtful)
  }

  /** A copy. Throws `object_corrupt` if another process wrote it under a wrong oid. */
  find(oid: Oid): NamedObject | undefined {
    const object = this.#objects.get(oid)
    if (object === undefined) return undefined
    const { type, body } = object
    if (!object.isVerified && gitHash(type, body) !== oid) {
      throw new StoreError('object_corrupt', 'An object in the journal does not match its name')
    }
    object.isVerified = true
    return { oid, type, body: body.slice() }
  }

  has(oid: Oid): boolean {
    return this.#objects.has(oid)
  }

  /**
   * Reads what other processes wrote. After 'everything', call `link`. Throws `journal_corrupt`.
   */
  refresh(): JournalNews {
    const newer = this.#newer
    const known = newer.frames.length
    const change = this.#readFiles()
    if (change !== 'frames') return change
    const added = newer.frames.slice(known)
    if (added[0]?.expected !== (this.head ?? this.#branch)) return 'everything'
    this.#live.push(...added)
    this.#remember(added)
    return 'frames'
  }

  /**
   * Determines the live frames: those after the frame that moved the branch to `branch`. Returns
   * false, and changes nothing, if the frames do not continue from it.
   */
  link(branch: Oid | undefined): boolean {
    const frames = [...this.#older.frames, ...this.#newer.frames]
    let at: Oid | undefined = frames[0]?.expected
    let first = at === branch || frames.length === 0 ? 0 : undefined
    for (const [index, frame] of frames.entries()) {
      if (frame.expected !== at) return false
      at = frame.next
      // The earliest match: a frame that is treated as live though it is packed does no harm.
      if (at === branch) first ??= index + 1
    }
    if (first === undefined) return false
    this.#branch = branch
    this.#live = frames.slice(first)
    this.#objects = new Map()
    this.#remember(this.#live)
    return true
  }

  /** Appends transitions that continue from the head. Durable when it resolves. */
  async append(transitions: readonly Transition[]): Promise<void> {
    await this.#prepare()
    if (this.#newer.generation === 0) await this.#newer.start(1, this.#random(saltBytes))
    if (this.#older.uncertain) await this.#older.harden()
    const frames = await this.#newer.append(transitions)
    this.#live.push(...frames)
    this.#remember(frames)
  }

  /**
   * Returns the live frames to pack next: those of the older file. If that file is empty, the files
   * switch first (`switched`: these are all frames), and new frames go to the other. Undefined
   * without any. Under the writer lock.
   */
  async seal(): Promise<
    { readonly frames: readonly Frame[]; readonly switched: boolean } | undefined
  > {
    const switched = this.#older.frames.length === 0
    if (switched) {
      if (this.#newer.frames.length === 0) return undefined
      await this.#prepare()
      await this.#older.start(this.#newer.generation + 1, this.#random(saltBytes))
    }
    await this.#older.harden()
    const sealed = new Set(this.#older.frames)
    return { frames: this.#live.filter((frame) => sealed.has(frame)), switched }
  }

  /**
   * Empties the sealed file, whose frames are in a durable pack. A power loss may restore them
   * until the file is started again. Under the writer lock.
   */
  clearSealed(): void {
    this.#older.clear(journalPackBytes)
  }

  /** Makes durable that nothing follows the last frames. Under the writer lock. */
  async scrub(): Promise<void> {
    for (const file of this.#files) await file.scrub()
  }

  /** The commits and objects of the live frames, and all objects that these link to. */
  named(): ReadonlySet<Oid> {
    const named = new Set<Oid>()
    for (const { next, objects } of this.#live) {
      named.add(next)
      for (const object of objects) {
        named.add(object.oid)
        for (const oid of linksOf(object)) named.add(oid)
      }
    }
    return named
  }

  /** Every oid in a frame, including packed ones. */
  *objectIds(): Generator<Oid> {
    for (const { frames } of this.#files) {
      for (const { objects } of frames) for (const { oid } of objects) yield oid
    }
  }

  /**
   * Frees most of the space of both files if they hold no frames: nothing was written while the
   * last ones were packed, so the next burst may be far away. Under the writer lock.
   */
  shrink(): void {
    const isEmpty = this.#files.every((file) => file.frames.length === 0)
    if (isEmpty) for (const file of this.#files) file.shrink()
  }

  /** Frees all space of both files if they hold no frames. Under the writer lock. */
  async truncate(): Promise<void> {
    if (this.#files.some((file) => file.frames.length > 0)) return
    for (const file of this.#files) file.clear()
    for (const file of this.#files) await file.sync()
  }

  /** Its objects no longer exist either: other journals use their memory. */
  close(): void {
    this.#objects = new Map()
    for (const file of this.#files) file.close()
  }

  get #newer(): JournalFile {
    const [a, b] = this.#files
    return b.generation > a.generation ? b : a
  }

  get #older(): JournalFile {
    const [a, b] = this.#files
    return b.generation > a.generation ? a : b
  }

  #readFiles(): JournalNews {
    const [newer, older] = [this.#newer, this.#older]
    const change = newer.refresh()
    return older.refresh() === 'nothing' ? change : 'everything'
  }

  #remember(frames: readonly Frame[]): void {
    for (const frame of frames) {
      for (const object of frame.objects) this.#objects.set(object.oid, object)
    }
  }

  /**
   * Creates the files, which a clone lacks; their names must be durable before their content is.
   */
  async #prepare(): Promise<void> {
    if (this.#prepared) return
    this.#disk.makeDirectory(this.#directory)
    const created = this.#files.map((file) => file.create())
    // The process that created them may have died before their names were durable.
    const isFirst = created.includes(true) || this.#newer.generation === 0
    if (isFirst) await this.#disk.syncDirectory(this.#directory)
    this.#prepared = true
  }
}

function linksOf({ type, body }: JournalObject): readonly Oid[] {
  if (type === 'blob') return []
  if (type === 'tree') return decodeTree(body).map(({ oid }) => oid)
  const links = findLinks(body)
  return links === undefined ? [] : [links.tree, ...links.parents]
}

/** The branch is neither at the start of the journal nor at any of its frames. */
export function branchMovedError(): StoreError {
  return new StoreError(
    'ref_conflict',
    'Another program moved refs/heads/main while changes were still in the journal: move it back',
  )
}
