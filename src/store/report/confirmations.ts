// Which devices have not confirmed a redaction, by the records of a verified trail: by the rule of
// `redaction/acknowledgement.ts`, for readers without the contents too. Pure.

import type { AuditEntry } from '../audit/audit-trail.ts'
import { mayStillWrite, type PendingDevice } from '../redaction/acknowledgement.ts'
import type { ReportedDevice } from './access-events.ts'

/**
 * For each redact record, by its commit: the active devices that have written nothing since they
 * knew of it. Not `reader`, which has verified the trail, nor devices that were added later.
 */
export function findUnconfirmed(
  entries: readonly AuditEntry[],
  devices: readonly ReportedDevice[],
  reader: string,
): ReadonlyMap<string, readonly PendingDevice[]> {
  const redactions = entries.filter(({ kind }) => kind === 'redact')
  const found = new Map(redactions.map(({ commit }) => [commit, [] as PendingDevice[]]))
  if (redactions.length === 0) return found
  const trail = new Ancestry(entries)
  const newest = new Map(entries.map(({ deviceId, commit }) => [deviceId, commit]))
  for (const device of devices) {
    const { deviceId, name, role, lastRecord, added, removed } = device
    if (removed !== undefined || deviceId === reader) continue
    const isKnown = trail.pastOf([added.commit, newest.get(deviceId) ?? added.commit])
    const canAcknowledge = mayStillWrite(role, false)
    for (const { commit } of redactions) {
      if (isKnown(commit)) continue
      found.get(commit)?.push({ deviceId, name, role, lastRecord, canAcknowledge })
    }
  }
  return found
}

/** The order of the commits of a trail. */
class Ancestry {
  readonly #entries: readonly AuditEntry[]
  readonly #positions: ReadonlyMap<string, number>

  constructor(entries: readonly AuditEntry[]) {
    this.#entries = entries
    this.#positions = new Map(entries.map(({ commit }, position) => [commit, position]))
  }

  /** Whether a commit is one of these or an ancestor of one. */
  pastOf(commits: readonly string[]): (commit: string) => boolean {
    const past = new Uint8Array(this.#entries.length)
    for (const commit of commits) past[this.#positions.get(commit) ?? past.length] = 1
    // Parents come before their children.
    for (let position = past.length - 1; position >= 0; position -= 1) {
      if (past[position] !== 1) continue
      for (const parent of this.#entries[position]?.parents ?? []) {
        past[this.#positions.get(parent) ?? past.length] = 1
      }
    }
    return (commit) => past[this.#positions.get(commit) ?? past.length] === 1
  }
}
