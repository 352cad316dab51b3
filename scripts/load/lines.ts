// The model that the load of a server and the soak of clones share: a client writes lines, each of
// them once, and keeps which of them were acknowledged. A store holds each acknowledged line once.

import { createHash } from 'node:crypto'

/** Lost: the process was killed before it answered, so that either is right. */
export type Outcome = 'acknowledged' | 'refused' | 'lost'

export class Lines {
  readonly #outcomes = new Map<string, Outcome>()

  get acknowledged(): number {
    return [...this.#outcomes.values()].filter((outcome) => outcome === 'acknowledged').length
  }

  note(line: string, outcome: Outcome): void {
    this.#outcomes.set(line, outcome)
  }

  /** What is wrong with the lines that were found, of which none may be of another client. */
  problems(found: readonly string[]): readonly string[] {
    const counts = new Map<string, number>()
    for (const line of found) counts.set(line, (counts.get(line) ?? 0) + 1)
    const problems: string[] = []
    for (const [line, outcome] of this.#outcomes) {
      const times = counts.get(line) ?? 0
      counts.delete(line)
      if (outcome === 'acknowledged' && times === 0) problems.push(`${line} is lost`)
      if (outcome === 'refused' && times > 0) problems.push(`${line} was refused or replaced`)
      if (times > 1) problems.push(`${line} occurs ${times} times`)
    }
    for (const line of counts.keys()) problems.push(`${line} was never sent`)
    return problems
  }
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
