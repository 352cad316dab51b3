// What every source of an import returns: texts with the paths of their memories, and what it
// leaves out. Whether a text can be a memory is decided in plan.ts, in the same way for all.

import { isUtf8 } from 'node:buffer'
import { utf8Text } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { type Input, usageError } from '../call/command.ts'
import { composedPath } from '../text/store-path.ts'

/** A text that may become a memory. */
export interface TextCandidate {
  /** The path of the memory, not checked yet. */
  readonly path: string
  /** What the user calls it: a file, or a line of one. */
  readonly origin: string
  /** The text in UTF-8, of at most `limit` bytes and one more. Throws an `UnsuitableError`. */
  read(limit: number): Uint8Array
}

/** Something that does not become a memory. */
export interface LeftOutPart {
  readonly origin: string
  /** The end of a sentence: `not Markdown`. */
  readonly reason: string
}

export interface FoundTexts {
  readonly candidates: readonly TextCandidate[]
  /** What the rules of the source exclude. */
  readonly leftOut: readonly LeftOutPart[]
  /** Damaged parts of the source. They refuse the import unless the user skips them. */
  readonly unsuitable: readonly LeftOutPart[]
}

/** One part of a source cannot be read; the others can. The message is a reason. */
export class UnsuitableError extends StoreError {
  constructor(reason: string, cause?: unknown) {
    super('invalid_input', reason, { cause })
  }
}

/** The text of a candidate. Throws an `UnsuitableError` if it cannot be that of a memory. */
export function textOfCandidate({ read }: Pick<TextCandidate, 'read'>, limit: number): string {
  const bytes = read(limit)
  if (bytes.length > limit)
    throw new UnsuitableError(`more than ${limit} bytes, which is the limit`)
  if (!isUtf8(bytes)) throw new UnsuitableError('not UTF-8 text')
  if (bytes.includes(0)) throw new UnsuitableError('contains NUL characters')
  return utf8Text(bytes)
}

/** The source that the user must name. */
export function getSource(input: Input, what: string): string {
  const source = input.findArgument(0)
  if (source !== undefined) return source
  throw usageError(`"import" needs ${what} here`, 'import')
}

/**
 * The path of a memory below `--to`, or below the default place of its source. File systems of
 * macOS decompose names (NFD); the store wants them composed.
 */
export function pathBelow(input: Input, place: string, name: string): string {
  const to = composedPath(input.text('to') ?? place)
  return `${to === '/' ? '' : to}/${name.normalize('NFC')}`
}
