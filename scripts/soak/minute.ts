// The line that is printed for each minute: the worst values of either process in it.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Pulse } from './message.ts'

/** Counts of both processes. Only completed syncs count. */
export interface Counts {
  readonly commands: number
  readonly syncs: number
  /** Since the beginning. */
  readonly kills: number
}

export class Minute {
  #rss = 0
  #heap = 0
  #stall = 0
  #usual = 0
  #handles = 0
  #packs = 0
  #journal = 0

  add({ rss, heap, stallMax, stallUsual }: Pulse): void {
    this.#rss = Math.max(this.#rss, rss)
    this.#heap = Math.max(this.#heap, heap)
    this.#stall = Math.max(this.#stall, stallMax)
    this.#usual = Math.max(this.#usual, stallUsual)
  }

  /** Adds the files of a store and the handles of its process. */
  look(store: string, handles: number | undefined): void {
    this.#handles = Math.max(this.#handles, handles ?? 0)
    const packs = readdirSync(join(store, 'objects/pack')).filter((name) => name.endsWith('.pack'))
    this.#packs = Math.max(this.#packs, packs.length)
    const own = join(store, 'gitlocket')
    const journals = readdirSync(own).filter((name) => name.startsWith('journal-'))
    const bytes = journals.map((name) => statSync(join(own, name), { throwIfNoEntry: false })?.size)
    this.#journal = Math.max(this.#journal, ...bytes.map((size) => size ?? 0))
  }

  describe(number: number, { commands, syncs, kills }: Counts): string {
    return [
      `minute ${number}:`,
      `${commands} commands,`,
      `${Math.round(commands / 60)}/s,`,
      `${syncs} syncs,`,
      `rss ${megabytes(this.#rss)},`,
      `heap ${megabytes(this.#heap)},`,
      `longest stall ${Math.round(this.#stall)} ms`,
      `(p99.9 ${Math.round(this.#usual)} ms),`,
      `${this.#handles} open files,`,
      `${this.#packs} packs,`,
      `journal ${megabytes(this.#journal)},`,
      `${kills} kills survived`,
    ].join(' ')
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
