// Whether what a grant wrote has arrived already, written again by another device or an earlier
// sync: the note of such a change names the record that it repeats (decision 0077). A redaction may
// have erased the note, and then a change that may be it is treated as it, so that no erased text
// comes back. Decides nothing else.

import { toHex } from '../../bytes.ts'
import { formatId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import { noteBytesMax } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import { decodeAt } from '../access/post-revocation.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import type { HistorySource } from '../history/history.ts'
import type { LeftLine } from './redo.ts'

/** Digits of a record's hash in a note. */
const HASH_DIGITS = 16

const NOTE = /^Written again for (dev_[0-9a-z]{26}), record ([0-9a-f]{16})(?:: |$)/

/** The note of a change that is written again: which one it was, and what its own note said. */
export function noteAgain({ deviceId, note }: CommitEntry, record: string): string {
  const head = `Written again for ${formatId('device', deviceId)}, record ${record}`
  let text = note === undefined ? head : `${head}: ${note}`
  // The cut may be inside of a character of two units.
  while (Bytes.byteLength(text) > noteBytesMax)
    text = text.slice(0, -1).replace(/[\uD800-\uDBFF]$/u, '')
  return text
}

/** What names a record in a note: a redaction changes the commit and not this. */
export function recordName(source: HistorySource, oid: Oid): string {
  return toHex(decodeAt(source, oid).hash).slice(0, HASH_DIGITS)
}

export class ArrivedWork {
  /** By the name of a record, the rows of the change that repeats it. */
  readonly #repeats: Map<string, readonly VersionEntry[]> = new Map()
  /** The actors and sessions of changes of which a redaction has erased the note. */
  readonly #erased: Set<string> = new Set()

  /** Looks at all changes that are kept and may repeat one of the line. */
  constructor({ history, followed, positions }: LeftLine) {
    const heights = [...positions].map((position) => history.commits.at(position)?.height ?? 0)
    const lowest = heights.reduce((low, height) => Math.min(low, height), Infinity)
    for (const kept of [followed, history]) {
      for (const commit of kept.commits) {
        if (commit.height < lowest || (kept === history && positions.has(commit.position))) continue
        if (commit.kind === 'change') this.#add(commit, kept.rowsAt(commit.position))
      }
    }
  }

  /** The rows that repeat a record, or `erased` if they may have been redacted. */
  find(commit: CommitEntry, record: string): readonly VersionEntry[] | 'erased' | undefined {
    const rows = this.#repeats.get(nameOf(commit.deviceId, record))
    if (rows !== undefined) return rows
    return this.#erased.has(authorOf(commit)) ? 'erased' : undefined
  }

  #add(commit: CommitEntry, rows: readonly VersionEntry[]): void {
    const [, device, record] = NOTE.exec(commit.note ?? '') ?? []
    if (device !== undefined && record !== undefined) this.#repeats.set(`${device} ${record}`, rows)
    const [first] = rows
    if (first !== undefined && first.path === undefined) this.#erased.add(authorOf(commit))
  }
}

function nameOf(deviceId: string, record: string): string {
  return `${formatId('device', deviceId)} ${record}`
}

function authorOf({ actor, session }: CommitEntry): string {
  return JSON.stringify([actor?.type, actor?.id, session])
}
