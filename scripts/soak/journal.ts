// What the machines of a soak have written: each write with a token that occurs nowhere else, and
// what is known of its fate.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Ended, Home } from './home.ts'

/** A new memory, a line added to a memory of all, or the next text of a memory of one clone. */
export type Kind = 'memory' | 'line' | 'text'

export interface Write {
  readonly token: string
  readonly kind: Kind
  readonly path: string
  /** Of the clone. */
  readonly home: Home
  isAcknowledged: boolean
  /** Whether a sync that was reported as done began after the acknowledgement. */
  isSynced: boolean
}

export class Journal {
  readonly writes: Write[] = []
  readonly #notes: string[] = []

  begin(home: Home, kind: Kind, pathOf: (token: string) => string): Write {
    const token = `token-${String(this.writes.length).padStart(6, '0')}-`
    const path = pathOf(token)
    const write = { token, kind, path, home, isAcknowledged: false, isSynced: false }
    this.writes.push(write)
    this.note(`${home.directory}: writes ${token} as a ${kind}, ${path}`)
    return write
  }

  note(text: string): void {
    this.#notes.push(`${new Date().toISOString()} ${text.trim()}\n`)
  }

  /** Those of a clone that are acknowledged now, from the `since`th write of all on. */
  acknowledged(home: Home, since = 0): readonly Write[] {
    const writes = this.writes.slice(since)
    return writes.filter((write) => write.home === home && write.isAcknowledged)
  }

  /** All notes, then the fate of each write. */
  describe(): string {
    const fates = this.writes.map(({ token, isAcknowledged, isSynced }) => {
      return `${token} ${isSynced ? 'synced' : isAcknowledged ? 'acknowledged' : 'open'}\n`
    })
    return [...this.#notes, ...fates].join('')
  }
}

/** Ends that a machine may meet because of the others, of cut links and of what ended its grant. */
const expected: ReadonlySet<string> = new Set([
  'remote_unreachable',
  'remote_timeout',
  'remote_moved',
  'locked',
  'grant_expired',
  // Until the granter's new start has come.
  'history_needed',
  'not_found',
  // After new keys, until the granter has synced.
  'wrong_key',
  'exit 8',
  'killed',
  // Of a program without --json: not found, refused, busy, offline.
  'exit 3',
  'exit 4',
  'exit 6',
  'exit 10',
  'exit 13',
])

const startComesWithinMs = 30_000

/** How often what happened; anything unexpected is a fault. */
export class Tally {
  readonly #journal: Journal
  readonly #counts: Map<string, number> = new Map()
  readonly faults: Set<string> = new Set()
  readonly #waiting: Map<Home, number> = new Map()

  constructor(journal: Journal) {
    this.#journal = journal
  }

  count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  /** Counts what a failed program printed, by its code, which is the result. */
  fail(home: Home, ended: Ended): string {
    const code = codeOf(ended)
    this.count(code)
    const text = `${home.directory}: ${code}: ${ended.stdout}${ended.stderr}`
    this.#journal.note(text)
    if (!expected.has(code)) this.faults.add(text)
    return code
  }

  /** A clone that a redaction has left waits for a start, which comes with the redaction. */
  waits(home: Home): void {
    const since = this.#waiting.get(home) ?? performance.now()
    this.#waiting.set(home, since)
    const ms = Math.round(performance.now() - since)
    if (ms > startComesWithinMs)
      this.faults.add(`${home.directory}: has no new start after ${ms} ms`)
  }

  goesOn(home: Home): void {
    this.#waiting.delete(home)
  }

  describe(): string {
    return [...this.#counts].map(([name, count]) => `${count} ${name}`).join(', ')
  }
}

function codeOf({ exitCode, stdout, stderr }: Ended): string {
  const [, code] = /"code":"(\w+)"/.exec(stdout + stderr) ?? []
  return code ?? (exitCode === undefined ? 'killed' : `exit ${exitCode}`)
}

/** Syncs a clone, killed after a time if one is given. The code of the failure, if any. */
export async function syncClone(
  home: Home,
  { journal, tally }: { readonly journal: Journal; readonly tally: Tally },
  killAfterMs?: number,
): Promise<string | undefined> {
  const sent = journal.acknowledged(home)
  const { child, ended } = home.start('sync', '--json')
  child.stdin?.end()
  if (killAfterMs !== undefined) void sleep(killAfterMs).then(() => child.kill('SIGKILL'))
  const result = await ended
  if (result.exitCode !== 0) {
    const code = tally.fail(home, result)
    if (code === 'history_needed') tally.waits(home)
    return code
  }
  tally.goesOn(home)
  for (const write of sent) write.isSynced = true
  tally.count('syncs')
  journal.note(`${home.directory}: synced`)
  return undefined
}
