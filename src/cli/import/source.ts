// What every source of an import gives: texts with the paths that they are to have, and what it
// left out and why. Whether a text can be a memory is for plan.ts to say, in one way for all.

import { StoreError } from '../../errors.ts'
import type { Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { composedPath } from '../text/store-path.ts'

/** A text that may become a memory. */
export interface Candidate {
  /** The path of the memory, not checked yet. */
  readonly path: string
  /** What the user calls it: a file, or a line of one. */
  readonly origin: string
  /** The text in UTF-8, of at most `limit` bytes and one more. Throws an `UnsuitableError`. */
  read(limit: number): Uint8Array
}

/** Something that does not become a memory. */
export interface LeftOut {
  readonly origin: string
  /** The end of a sentence: `not Markdown`. */
  readonly reason: string
}

/** Everything in a source. */
export interface Found {
  readonly candidates: readonly Candidate[]
  /** What the rules of the source exclude. */
  readonly leftOut: readonly LeftOut[]
  /** What belongs to the source and is damaged. It refuses the import unless the user skips it. */
  readonly unsuitable: readonly LeftOut[]
}

/** Finds everything. Must change nothing, and follow no link below what the user has named. */
export type Source = (context: Context, input: Input) => Found | Promise<Found>

/** One thing of a source cannot be read; the others can. The message is a reason. */
export class UnsuitableError extends StoreError {
  constructor(reason: string, cause?: unknown) {
    super('invalid_input', reason, { cause })
  }
}

/**
 * The path of a memory below `--to`, or below where the source puts its memories. File systems of
 * macOS take names apart (NFD); the store wants them composed.
 */
export function pathBelow(input: Input, place: string, name: string): string {
  const to = composedPath(input.text('to') ?? place)
  return `${to === '/' ? '' : to}/${name.normalize('NFC')}`
}
