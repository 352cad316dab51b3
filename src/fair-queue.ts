// Turns that many callers share: keys take turns, and within a key its sessions do, so that one
// with many requests waits for its own and others do not wait for them. Knows no credential: any
// two texts do.

export interface TurnOwner {
  readonly key: string
  readonly session: string
}

/** First come, first served within one session; round robin over sessions, and over keys. */
export class FairQueue<T> {
  /** In the order of their turns. A key or session without items is not kept. */
  readonly #keys = new Map<string, Map<string, T[]>>()

  /** Adds an item. It never gets in front of the one that `peek` gives. */
  push({ key, session }: TurnOwner, item: T): void {
    const sessions = this.#keys.get(key) ?? new Map<string, T[]>()
    this.#keys.set(key, sessions)
    const items = sessions.get(session) ?? []
    sessions.set(session, items)
    items.push(item)
  }

  peek(): T | undefined {
    const [sessions] = this.#keys.values()
    const [items] = sessions?.values() ?? []
    return items?.[0]
  }

  /** Takes that item out. Its key and its session have their next turn after all others. */
  shift(): T | undefined {
    const [first] = this.#keys
    if (first === undefined) return undefined
    const [key, sessions] = first
    this.#keys.delete(key)
    const [session = '', items = []] = sessions.entries().next().value ?? []
    sessions.delete(session)
    const item = items.shift()
    if (items.length > 0) sessions.set(session, items)
    if (sessions.size > 0) this.#keys.set(key, sessions)
    return item
  }
}

/** Runs `max` tasks at a time; the others wait in a fair queue. */
export class FairTurns {
  readonly #waiting = new FairQueue<() => void>()
  #free: number

  constructor(max: number) {
    this.#free = max
  }

  async run<T>(owner: TurnOwner, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(owner, resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}
