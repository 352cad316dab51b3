// The last steps of a forged commit: signing its record, sealing and encoding the whole, each with
// the hook for a fault.

import { concatBytes, utf8 } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import type { Random } from '../../src/crypto/random.ts'
import { sign } from '../../src/crypto/signature.ts'
import type { RecordBody, SignedRow } from '../../src/format/change-record.ts'
import { type CommitParts, encodeCommit } from '../../src/format/commit.ts'
import { type DetailRow, encodeDetail } from '../../src/format/detail.ts'
import { detailContext, recordContext, type Seeded } from '../../src/format/envelope.ts'
import { writesVersions } from '../../src/format/record-rules.ts'
import { encodeSignedBody, zeroHash, zeroId } from '../../src/format/record.ts'
import type { Entry, Fault, ForgedAuthor, NewRow } from './forge-fault.ts'
import { seal } from './forge-seal.ts'
import type { Forge } from './forge.ts'

const firstTime = 1_700_000_000_000

/** What follows from the history, and the fields of its kind. */
export function baseRecord(
  { chains, keyringRecord, entries }: Pick<Forge, 'chains' | 'keyringRecord' | 'entries'>,
  fields: Pick<RecordBody, 'kind'> & Partial<RecordBody>,
  parents: readonly Entry[],
  author: ForgedAuthor,
): RecordBody {
  const chain = chains.get(author.deviceId)
  return {
    height: Math.max(-1, ...parents.map(({ record }) => record.height)) + 1,
    deviceId: author.deviceId,
    sequence: (chain?.sequence ?? 0) + 1,
    previous: chain?.hash ?? zeroHash,
    keyring: keyringRecord,
    parents: parents.map(({ hash }) => hash),
    time: firstTime + entries.length * 1000,
    actor: { type: 'user', id: 'forger' },
    session: undefined,
    reason: undefined,
    directoryNumber: 0,
    keyringHash: zeroHash,
    settingsHash: zeroHash,
    rows: [],
    grants: [],
    ...fields,
  }
}

/** The row of a redaction. */
export function targetRow(memoryId: string, base: string): SignedRow {
  return { memoryId, base, secondBase: zeroId, operation: undefined, commitment: zeroHash }
}

/** The detail of a row, as its author claims it. */
export function forgeDetail(
  random: Random,
  row: NewRow,
  index: number,
  { claim }: Fault,
): DetailRow {
  const content = utf8(row.content ?? '')
  const gone = row.operation === 'deleted'
  const honest = {
    row: index,
    path: row.path,
    note: row.note ?? '',
    size: gone ? 0 : content.length,
    sha256: gone ? zeroHash : sha256(content),
    blinding: random(32),
  }
  return claim?.(honest) ?? honest
}

/** Signed body ‖ signature. */
export function signForged(
  store: Seeded,
  record: RecordBody,
  author: ForgedAuthor,
  fault: Fault,
): Uint8Array {
  const encoded = encodeSignedBody(record)
  const body = fault.body?.(encoded) ?? encoded
  const purpose = concatBytes(utf8('GLK1/record-signature/v1\0'), recordContext(store))
  const signature = sign(concatBytes(purpose, body), author.signing)
  return concatBytes(body, fault.signature?.(signature, body) ?? signature)
}

export function encodeForged(
  store: Seeded,
  entry: Omit<Entry, 'oid'>,
  place: Pick<CommitParts, 'tree' | 'parents'>,
  fault: Fault,
): Uint8Array {
  const { record, signed, hash, epoch, details } = entry
  const context = recordContext(store)
  const recordPlace = { type: 'record', keys: epoch.record, context, hedge: zeroHash } as const
  const detail = { type: 'detail', keys: epoch.detail, hedge: zeroHash } as const
  const detailPlace = { ...detail, context: detailContext(store, hash) }
  const honest: CommitParts = {
    ...place,
    height: record.height,
    record: seal({ ...recordPlace, plaintext: signed }, fault.recordSeal),
    detail: writesVersions(record)
      ? seal({ ...detailPlace, plaintext: encodeDetail(details) }, fault.detailSeal)
      : undefined,
  }
  const bytes = encodeCommit(fault.parts?.(honest) ?? honest, fault.group ?? epoch.group)
  return fault.bytes?.(bytes) ?? bytes
}
