// The vocabulary of the list of mutants: one deliberate defect, and the test that must notice it. A
// mutant names a function and a change rather than a file and a line, so that a function may be
// moved and reformatted. Texts match whatever the whitespace.

export type Change =
  /** Removes the only statement that contains this text. */
  | { readonly type: 'without'; readonly text: string }
  /** Sets the only condition of an `if` that contains this text to a constant. */
  | { readonly type: 'never' | 'always'; readonly text: string }
  /** Replaces the only occurrence of this text. */
  | { readonly type: 'swap'; readonly text: string; readonly by: string }

export interface Mutant {
  /** The function, method or constant; only one of this name may contain the text. */
  readonly within: string
  readonly change: Change
  /** The end of the full name of the test that must fail, groups included. */
  readonly name: string
}

/** By test file, from `test/`. */
export type MutantList = Readonly<Record<string, readonly Mutant[]>>

/** A change of one file in src/. Nothing is written to the disk. */
export interface Edit {
  /** From the root of the repository. */
  readonly file: string
  readonly start: number
  readonly end: number
  readonly by: string
}

export function without(within: string, text: string, name: string): Mutant {
  return { within, change: { type: 'without', text }, name }
}

export function never(within: string, text: string, name: string): Mutant {
  return { within, change: { type: 'never', text }, name }
}

export function always(within: string, text: string, name: string): Mutant {
  return { within, change: { type: 'always', text }, name }
}

export function swap(within: string, [text, by]: [string, string], name: string): Mutant {
  return { within, change: { type: 'swap', text, by }, name }
}
