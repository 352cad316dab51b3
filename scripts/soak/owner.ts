// A laptop of the store's owner: a clone with a device that writes and syncs at intervals, is
// offline for stretches, and does what no sandbox may: it ends grants, redacts, and rotates keys.

import type { Home } from './home.ts'
import { syncClone } from './journal.ts'
import { type Choose, pause, sharedMemories, type World } from './sandbox.ts'

const [syncEveryMs, offlineMs] = [10_000, 20_000]
const tries = 20

export class Owner {
  readonly home: Home
  readonly #name: string
  readonly #world: World
  readonly #choose: Choose
  readonly #deeds: { words: readonly string[]; done: () => void }[] = []

  constructor(name: string, home: Home, world: World, choose: Choose) {
    this.#name = name
    this.home = home
    this.#world = world
    this.#choose = choose
  }

  /** Until the work is over. */
  async work(): Promise<void> {
    const { signal, everyMs, tally } = this.#world
    while (!signal.aborted) {
      if (this.#choose(4) === 0) {
        this.home.place.cut('unplugged')
        tally.count('times offline of an owner')
      }
      const until = performance.now() + this.#choose(offlineMs)
      while (!signal.aborted && performance.now() < until) {
        await pause(this.#choose(2 * everyMs), signal)
        await this.#write()
      }
      this.home.place.restore()
      await this.#doAll()
      await pause(this.#choose(syncEveryMs), signal)
      await syncClone(this.home, this.#world)
    }
    await this.#doAll()
  }

  /** Resolves once a command is done, and everyone can know of it. */
  do(...words: readonly string[]): Promise<void> {
    return new Promise((done) => {
      this.#deeds.push({ words, done })
    })
  }

  async #doAll(): Promise<void> {
    for (const { words, done } of this.#deeds.splice(0)) {
      await this.#persist(words)
      await this.#persist(['sync'])
      done()
    }
  }

  async #write(): Promise<void> {
    const { journal, tally } = this.#world
    const isLine = this.#choose(2) === 0
    const shared = `/shared/${this.#choose(sharedMemories)}.md`
    const pathOf = (token: string): string => (isLine ? shared : `/${this.#name}/${token}.md`)
    const write = journal.begin(this.home, isLine ? 'line' : 'memory', pathOf)
    const words = isLine ? ['insert', '--line', '0'] : ['create']
    const text = `${write.token}\n`
    const ended = await this.home.run(...words, write.path, '--text', text, '--json')
    write.isAcknowledged = ended.exitCode === 0
    if (!write.isAcknowledged) tally.fail(this.home, ended)
  }

  /** Runs a command again until it has not lost a race. */
  async #persist(words: readonly string[]): Promise<void> {
    const { tally } = this.#world
    for (let count = 1; count <= tries; count += 1) {
      const ended = await this.home.run(...words, '--json')
      if (ended.exitCode === 0) return
      const code = tally.fail(this.home, ended)
      tally.count(`${words[0]} again after ${code}`)
    }
    tally.faults.add(`gitlocket ${words.join(' ')} failed ${tries} times`)
  }
}
