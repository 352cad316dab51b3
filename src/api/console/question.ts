// What the questions of the contract are made of. Types alone.

/** One question: what is sent, and what comes back. */
export interface Question<Input, Result> {
  readonly input: Input
  readonly result: Result
}

/** A moment of the history, by its commit, 40 hex digits; undefined for now. */
export interface AtMoment {
  readonly at?: string | undefined
}

/** One page of a long list; `after` is the `nextPage` of the page before. */
export interface PageInput {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** What a change may say about itself. */
export interface WithReason {
  readonly reason?: string | undefined
}

/** What a change left. `commit` is undefined if there was nothing to change. */
export interface Changed {
  readonly commit: string | undefined
}
