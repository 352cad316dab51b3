// One entry of the kept list: a defect of one line, and the test that notices it.

export interface Mutant {
  /** What stands in the file, exactly once. */
  readonly line: string
  /** What stands there instead. */
  readonly becomes: string
  /** The test file, from `test/`. */
  readonly test: string
  /** The full name of the test that fails, its groups included, or the end of it. */
  readonly name: string
}

/** The mutants of one source file, named from `src/`. */
export interface MutatedFile {
  readonly file: string
  readonly mutants: readonly Mutant[]
}
