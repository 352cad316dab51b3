// What happens in the store, told to every tab: one watch for all of them. A tab that was away asks
// for the number of changes so far, and knows whether it has missed one.

import type { ConsoleEvent } from '../operations/console/contract.ts'
import type { ConsoleSubject } from '../operations/console/subject.ts'

interface Tab {
  readonly tell: (event: ConsoleEvent) => void
  readonly end: () => void
}

/** A browser keeps six connections to one host open: questions need some of them. */
const TABS_MAX = 4
const ALIVE_MS = 15_000

/** By store: one watch for all tabs that look at it. */
export class StoreEvents {
  readonly #events = new Map<string | undefined, ConsoleEvents>()
  readonly #signal: AbortSignal

  /** Until the signal is aborted. */
  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  of(subject: ConsoleSubject, storeId: string | undefined): ConsoleEvents {
    const known = this.#events.get(storeId) ?? new ConsoleEvents(subject, this.#signal)
    this.#events.set(storeId, known)
    return known
  }

  tell(event: ConsoleEvent): void {
    for (const events of this.#events.values()) events.tell(event)
  }

  /** After the last event. */
  end(last: ConsoleEvent): void {
    for (const events of this.#events.values()) events.end(last)
  }
}

class ConsoleEvents {
  readonly #tabs = new Set<Tab>()
  readonly #alive: NodeJS.Timeout
  #changes = 0

  /** Until the signal is aborted. */
  constructor(subject: ConsoleSubject, signal: AbortSignal) {
    this.#alive = setInterval(() => this.tell({ type: 'alive' }), ALIVE_MS)
    void this.#follow(subject, signal)
  }

  /** The newest tab has its stream; the one that has had it longest begins anew. */
  stream(): ReadableStream<Uint8Array> {
    let tab: Tab | undefined
    return new ReadableStream<Uint8Array>({
      start: (lines) => {
        tab = {
          tell: (event) => lines.enqueue(Buffer.from(`${JSON.stringify(event)}\n`)),
          end: () => lines.close(),
        }
        this.#tabs.add(tab)
        tab.tell({ type: 'ready', changes: this.#changes })
        for (const oldest of this.#tabs) {
          if (this.#tabs.size <= TABS_MAX) return
          this.#end(oldest)
        }
      },
      cancel: () => {
        if (tab !== undefined) this.#tabs.delete(tab)
      },
    })
  }

  tell(event: ConsoleEvent): void {
    for (const { tell } of this.#tabs) tell(event)
  }

  end(last: ConsoleEvent): void {
    clearInterval(this.#alive)
    this.tell(last)
    for (const tab of this.#tabs) this.#end(tab)
  }

  async #follow(subject: ConsoleSubject, signal: AbortSignal): Promise<void> {
    try {
      for await (const change of subject.watch(signal)) {
        this.#changes += 1
        this.tell(change)
      }
    } catch {
      // An error that ends a watch also fails each question, which reports it.
      if (!signal.aborted) this.tell({ type: 'resync' })
    }
  }

  #end(tab: Tab): void {
    this.#tabs.delete(tab)
    tab.end()
  }
}
