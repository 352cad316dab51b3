// `gitlocket console`: a page for people on this machine, until it is locked. Carries what the page
// asks to a subject (operations/console/) and decides nothing.

import type { Clock } from '../clock.ts'
import type { ConsoleEvent } from '../operations/console/contract.ts'
import type { ConsoleSubjects } from '../operations/console/subject.ts'
import { type Connection, whenSent } from '../server/answer.ts'
import { Listener } from '../server/listener.ts'
import { limitsDefault } from '../server/options.ts'
import { hostsOf } from './doorway.ts'
import { StoreEvents } from './events.ts'
import { exchange } from './exchange.ts'
import { ConsoleKeys } from './keys.ts'
import type { PageFiles } from './page-files.ts'

export interface ConsoleOptions {
  readonly subjects: ConsoleSubjects
  readonly page: PageFiles
  /** Any that is free, if left out or 0. */
  readonly port?: number | undefined
  /** How long no one may use it; 15 minutes if left out. */
  readonly idleMs?: number | undefined
  readonly clock: Clock
}

export interface WebConsole {
  /** `http://127.0.0.1:4771` */
  readonly url: string
  /** An address with a one-time token in its fragment, which is good for a minute. */
  readonly newAddress: () => string
  /** Resolves when a user locks it, or no one has used it for long: then close it. */
  readonly locked: Promise<'user' | 'idle'>
  /** Forgets all keys, empties the pages, and ends. */
  readonly close: () => Promise<void>
}

const IDLE_MS = 15 * 60_000
/** How long before it locks a page tells its user, or half of the time if that is shorter. */
const WARNING_MS = 60_000
const limits = { ...limitsDefault, connections: 64, closeMs: 1000 }

/** Rejects with `invalid_input` for a port that cannot be had. */
export async function openConsole(options: ConsoleOptions): Promise<WebConsole> {
  const { subjects, page, port = 0, idleMs = IDLE_MS, clock } = options
  const keys = new ConsoleKeys(clock)
  const ending = new AbortController()
  const events = new StoreEvents(ending.signal)
  const idle = new IdleLock(idleMs, clock, (event) => events.tell(event))
  let hosts: ReadonlySet<string> = new Set()
  const lock = (): void => idle.lock('user')
  const used = (): void => idle.used()
  const answer = (request: Request, connection: Connection): Promise<Response> => {
    const left = new AbortController()
    whenSent(connection, () => left.abort())
    const signal = AbortSignal.any([left.signal, ending.signal])
    const context = { hosts, keys, page, subjects, events, clock, used, lock }
    return exchange(context, request, signal)
  }
  const close = async (end: () => Promise<void>): Promise<void> => {
    idle.end()
    keys.forgetAll()
    events.end(idle.lastEvent())
    ending.abort()
    await end()
  }
  try {
    const { listener, address } = await Listener.open({ port }, limits, answer)
    hosts = hostsOf(address.port)
    return {
      url: address.url,
      newAddress: () => `${address.url}/#token=${keys.newToken()}`,
      locked: idle.locked,
      close: () => close(() => listener.close()),
    }
  } catch (error) {
    await close(async () => undefined)
    throw error
  }
}

/** Locks once: when it is asked to, or when nothing was used for long, which it tells before. */
class IdleLock {
  readonly locked: Promise<'user' | 'idle'>
  readonly lock: (why: 'user' | 'idle') => void
  readonly #clock: Clock
  readonly #tell: (event: ConsoleEvent) => void
  readonly #timers: readonly NodeJS.Timeout[]
  #why: 'user' | 'idle' | undefined
  #usedAt: number
  #isTold = false

  constructor(idleMs: number, clock: Clock, tell: (event: ConsoleEvent) => void) {
    let settle: ((why: 'user' | 'idle') => void) | undefined
    this.locked = new Promise((resolve) => {
      settle = resolve
    })
    this.lock = (why) => {
      this.#why ??= why
      settle?.(why)
    }
    this.#clock = clock
    this.#tell = tell
    this.#usedAt = clock()
    const leftMs = Math.min(WARNING_MS, idleMs / 2)
    const warn = (): void => {
      this.#isTold = true
      tell({ type: 'idle' })
    }
    this.#timers = [setTimeout(() => this.lock('idle'), idleMs), setTimeout(warn, idleMs - leftMs)]
  }

  used(): void {
    for (const timer of this.#timers) timer.refresh()
    this.#usedAt = this.#clock()
    if (this.#isTold) this.#tell({ type: 'used' })
    this.#isTold = false
  }

  /** Why the console ends. */
  lastEvent(): ConsoleEvent {
    if (this.#why === undefined) return { type: 'ended' }
    return this.#why === 'user' ? { type: 'locked' } : { type: 'locked', idleSince: this.#usedAt }
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }
}
