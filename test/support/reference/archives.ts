// FORMAT §7: the archives of a keyring, which hold the keys of earlier epochs, oldest first.

import { concat, fromHex, Reader, toHex, u16, u8 } from './bytes.ts'
import { archiveContext, checkPadding, openEnvelope, sealEnvelope, zeroHedge } from './envelope.ts'
import { auditKeys, auditorEpoch, contentKeys, type Epoch, fullEpoch } from './keys.ts'
import { ensure } from './refusal.ts'

const auditEntryLength = 80
const contentEntryLength = 48

export interface Archives {
  readonly seed: string
  /** Envelopes. */
  readonly auditArchive: Uint8Array
  readonly contentArchive: Uint8Array
}

function encodeArchive(entries: readonly Uint8Array[]): Uint8Array {
  return concat(u8(1), u8(0), u16(entries.length), ...entries)
}

/** The archive of A; `older` is ordered from the oldest epoch to the newest. */
export function sealAuditArchive(seed: string, epoch: Epoch, older: readonly Epoch[]): Uint8Array {
  const entries = older.map((e) => concat(fromHex(e.kid), e.audit, e.contentHash))
  const [keys, context] = [auditKeys(epoch, 'archive'), archiveContext(seed, 'A')]
  return sealEnvelope('archive', keys, context, zeroHedge, encodeArchive(entries))
}

/** The archive of C. */
export function sealContentArchive(
  seed: string,
  epoch: Epoch,
  older: readonly Epoch[],
): Uint8Array {
  const entries = older.map((e) => concat(fromHex(e.kid), e.content ?? new Uint8Array()))
  const [keys, context] = [contentKeys(epoch, 'archive'), archiveContext(seed, 'C')]
  return sealEnvelope('archive', keys, context, zeroHedge, encodeArchive(entries))
}

function decodeArchive(padded: Uint8Array, entryLength: number): Uint8Array[] {
  const reader = new Reader(padded, 'keyring_malformed')
  ensure(reader.u8() === 1, 'upgrade_required', 'The archive has another version')
  ensure(reader.u8() === 0, 'keyring_malformed', 'A reserved byte is set')
  const entries = Array.from({ length: reader.u16() }, () => reader.raw(entryLength))
  checkPadding('archive', padded, reader.offset)
  return entries
}

/** Every epoch before `epoch`, oldest first. An auditor gets them without content keys. */
export function openArchives(archives: Archives, epoch: Epoch): Epoch[] {
  const { seed } = archives
  const [keys, context] = [auditKeys(epoch, 'archive'), archiveContext(seed, 'A')]
  const padded = openEnvelope('archive', keys, context, archives.auditArchive)
  const older = decodeArchive(padded, auditEntryLength).map((entry) => {
    const archived = auditorEpoch(seed, entry.slice(16, 48), entry.slice(48))
    const right = archived.kid === toHex(entry.slice(0, 16))
    ensure(right, 'keyring_mismatch', 'An archived audit key is not its kid’s')
    return archived
  })
  return epoch.content === undefined ? older : withContent(archives, epoch, older)
}

function withContent(archives: Archives, epoch: Epoch, older: readonly Epoch[]): Epoch[] {
  const { seed, contentArchive } = archives
  const [keys, context] = [contentKeys(epoch, 'archive'), archiveContext(seed, 'C')]
  const padded = openEnvelope('archive', keys, context, contentArchive)
  const entries = decodeArchive(padded, contentEntryLength)
  const [all, both] = [older.length, entries.length]
  ensure(all === both, 'keyring_mismatch', 'The archives name different epochs')
  return entries.map((entry, i) => {
    const full = fullEpoch(seed, older[i]?.audit ?? new Uint8Array(), entry.slice(16))
    const right = full.kid === older[i]?.kid && full.kid === toHex(entry.slice(0, 16))
    ensure(right, 'keyring_mismatch', 'An archived content key is not its kid’s')
    return full
  })
}
