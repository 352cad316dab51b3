// Iterates over a tree's entries without allocating, for walks through hundreds of thousands of
// trees. Ends early at bytes that are not a tree. Accepts names that git allows and a store does
// not; object.ts validates trees.

const oidBytes = 20
const space = 0x20
const slash = 0x2f
/** The first digit of mode `40000`; a file's mode starts with 1. */
const directoryDigit = 0x34

export class TreeCursor {
  readonly #body: Uint8Array
  #start = 0
  #name = 0
  /** The position of the NUL after the name; -1 after the last entry. */
  #nul = -1

  constructor(body: Uint8Array) {
    this.#body = body
    this.#locate()
  }

  /** Whether the cursor is at an entry; if not, nothing else may be called. */
  get valid(): boolean {
    return this.#nul !== -1
  }

  get isDirectory(): boolean {
    return this.#body[this.#start] === directoryDigit
  }

  /** 20 bytes, as a view. */
  get oid(): Uint8Array {
    return this.#body.subarray(this.#nul + 1, this.#nul + 1 + oidBytes)
  }

  next(): void {
    this.#start = this.#nul + 1 + oidBytes
    this.#locate()
  }

  /** Negative if git sorts this entry before the other; 0 if name and kind are equal. */
  compareName(other: TreeCursor): number {
    for (let at = 0; ; at += 1) {
      const left = this.#nameByte(at)
      const right = other.#nameByte(at)
      if (left !== right) return left - right
      if (left === -1) return 0
    }
  }

  hasOidOf(other: TreeCursor): boolean {
    for (let at = 1; at <= oidBytes; at += 1) {
      if (this.#body[this.#nul + at] !== other.#body[other.#nul + at]) return false
    }
    return true
  }

  /** Git treats a directory's name as ending in a slash; -1 after the end. */
  #nameByte(at: number): number {
    const index = this.#name + at
    if (index < this.#nul) return this.#body[index] ?? -1
    return index === this.#nul && this.isDirectory ? slash : -1
  }

  #locate(): void {
    this.#name = this.#body.indexOf(space, this.#start) + 1
    this.#nul = this.#name === 0 ? -1 : this.#body.indexOf(0, this.#name)
    if (this.#nul + oidBytes >= this.#body.length) this.#nul = -1
  }
}
