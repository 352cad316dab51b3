// Packs of a remote whose head is not verified yet, or was refused. A `.keep` file marks each, so
// that git and merges leave it as it is and it can be removed as a whole. Must not decide what is
// verified. Marks change under the writer lock: no two processes decide about one pack.

import { fromHex, utf8 } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { isHeldByLive, type LockIdentity } from '../../disk/process-lock.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { Oid } from '../objects/object.ts'
import { removePacks } from './pack-removal.ts'
import { PagedIndex } from './paged-index.ts'

/** Followed by the token of the handle that received the pack. Other `.keep` files are git's. */
const mark = 'gitlocket: not verified, received by '
const keepPattern = /^(pack-[0-9a-f]{40})\.keep$/

export class UnverifiedPacks {
  readonly #disk: Disk
  readonly #directory: string
  readonly #ownDirectory: string
  readonly #owner: Pick<LockIdentity, 'token'>
  /** What this handle is verifying: what it has received, and what was there before. */
  readonly #received: Set<string> = new Set()
  readonly #claimed: Set<string> = new Set()

  /** `directory` is `objects/pack`. */
  constructor(
    disk: Disk,
    { directory, ownDirectory }: { readonly directory: string; readonly ownDirectory: string },
    owner: Pick<LockIdentity, 'token'>,
  ) {
    this.#disk = disk
    this.#directory = directory
    this.#ownDirectory = ownDirectory
    this.#owner = owner
  }

  /** Marks a pack that is about to become visible, unless git keeps one of that name. */
  add(name: string): void {
    const before = this.#disk.readFile(this.#keepOf(name))
    if (before !== undefined && !isMark(before)) return
    this.#received.add(name)
    // A process that died as it received the same pack has left its mark.
    if (before !== undefined) this.#disk.remove(this.#keepOf(name))
    this.#mark(name)
  }

  #mark(name: string): void {
    const fd = this.#disk.open(this.#keepOf(name), 'wx')
    try {
      this.#disk.write(fd, utf8(`${mark}${this.#owner.token}\n`), 0)
    } finally {
      this.#disk.close(fd)
    }
  }

  /** Takes over what dead processes and refused heads have left, since this handle may need it. */
  async claim(): Promise<void> {
    for (const [name, token] of this.#marked()) {
      if (token !== this.#owner.token) {
        if (await this.#isLive(token)) continue
        this.#disk.remove(this.#keepOf(name))
        this.#mark(name)
      }
      this.#claimed.add(name)
    }
  }

  /**
   * Unmarks what this handle has received, and of the others those that hold any of `oids`: who
   * sends a head may leave out what an older pack of a refused one has. Durable when it resolves.
   */
  async accept(oids: () => Promise<Iterable<Oid>>): Promise<void> {
    const marked = this.#marked().map(([name]) => name)
    const others = marked.filter((name) => !this.#received.has(name))
    const needed = new Set(marked.filter((name) => this.#received.has(name)))
    if (others.length > 0) for (const name of await this.#holding(others, oids)) needed.add(name)
    for (const name of needed) this.#disk.remove(this.#keepOf(name))
    if (needed.size > 0) await this.#disk.syncDirectory(this.#directory)
    this.release()
  }

  /** Ends the verification: what it has received and not accepted can be dropped. */
  release(): void {
    this.#received.clear()
    this.#claimed.clear()
  }

  /**
   * Removes what no live process is verifying, except packs that hold one of these heads. Returns
   * whether there was anything.
   */
  async drop(heads: readonly Oid[]): Promise<boolean> {
    const doomed: string[] = []
    for (const [name, token] of this.#marked()) {
      const isOwn = token === this.#owner.token
      const isPending = this.#received.has(name) || this.#claimed.has(name)
      if (isOwn ? isPending : await this.#isLive(token)) continue
      if (!this.#holdsOne(name, heads)) doomed.push(name)
    }
    if (doomed.length > 0) await removePacks(this.#disk, this.#directory, doomed)
    return doomed.length > 0
  }

  /** Whether there are any. Costs one listing. */
  get isEmpty(): boolean {
    return this.#marked().length === 0
  }

  /** The names, and the tokens of the handles that have received them. */
  #marked(): readonly (readonly [name: string, token: string])[] {
    return this.#disk.list(this.#directory).flatMap((file) => {
      const name = keepPattern.exec(file)?.[1]
      const bytes = name === undefined ? undefined : this.#disk.readFile(this.#keepOf(name))
      if (name === undefined || bytes === undefined || !isMark(bytes)) return []
      return [[name, textOf(bytes).slice(mark.length).trimEnd()] as const]
    })
  }

  #holdsOne(name: string, oids: readonly Oid[]): boolean {
    const index = this.#open(name)
    if (index === undefined) return false
    try {
      return oids.some((oid) => index.find(fromHex(oid)) !== undefined)
    } finally {
      index.close()
    }
  }

  async #holding(
    names: readonly string[],
    oids: () => Promise<Iterable<Oid>>,
  ): Promise<readonly string[]> {
    const indexes = names.flatMap((name) => {
      const index = this.#open(name)
      return index === undefined ? [] : [{ name, index }]
    })
    const found = new Set<string>()
    const slice = new TimeSlice()
    try {
      for (const oid of await oids()) {
        const bytes = fromHex(oid)
        for (const { name, index } of indexes) {
          if (index.find(bytes) !== undefined) found.add(name)
        }
        if (slice.isOver()) await slice.next()
      }
      return [...found]
    } finally {
      for (const { index } of indexes) index.close()
    }
  }

  #open(name: string): PagedIndex | undefined {
    return PagedIndex.open(this.#disk, `${this.#directory}/${name}.idx`)
  }

  #isLive(token: string): Promise<boolean> {
    return isHeldByLive(this.#disk, `${this.#ownDirectory}/owner.${token}`)
  }

  #keepOf(name: string): string {
    return `${this.#directory}/${name}.keep`
  }
}

function isMark(bytes: Uint8Array): boolean {
  return textOf(bytes).startsWith(mark)
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}
