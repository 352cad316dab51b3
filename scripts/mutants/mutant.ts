// One entry of the list: a defect of one line, and the test that notices it.

export interface Mutant {
  /** The text in the file, which occurs exactly once. */
  readonly line: string
  /** Its replacement. */
  readonly becomes: string
  /** The test file, from `test/`. */
  readonly test: string
  /** The full name of the test that fails, groups included, or the end of it. */
  readonly name: string
}

/** The mutants of one source file, named from `src/`. */
export interface MutatedFile {
  readonly file: string
  readonly mutants: readonly Mutant[]
}
