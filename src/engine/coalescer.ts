// Questions of one turn of the event loop, asked together: a server answers many requests at once,
// and each asks the engine. A question that comes while others are asked is in the next round:
// otherwise it could get an answer that is older than itself.

interface Question<Q, A> {
  readonly question: Q
  readonly resolve: (answer: A) => void
  readonly reject: (error: unknown) => void
}

export class Coalescer<Q, A> {
  readonly #answer: (questions: readonly Q[]) => Promise<readonly A[]>
  #waiting: Question<Q, A>[] = []
  #isAsking = false

  /** `answer` gives one answer for each question, in their order. */
  constructor(answer: (questions: readonly Q[]) => Promise<readonly A[]>) {
    this.#answer = answer
  }

  ask(question: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ question, resolve, reject })
      if (this.#isAsking) return
      this.#isAsking = true
      setImmediate(() => void this.#ask())
    })
  }

  async #ask(): Promise<void> {
    while (this.#waiting.length > 0) {
      const asked = this.#waiting
      this.#waiting = []
      try {
        const answers = await this.#answer(asked.map(({ question }) => question))
        for (const [index, { resolve }] of asked.entries()) {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an answer for each
          resolve(answers[index] as A)
        }
      } catch (error) {
        for (const { reject } of asked) reject(error)
      }
    }
    this.#isAsking = false
  }
}
