// Builds and signs the record of a new commit (FORMAT §6.1) from the fields of its kind, the
// snapshot and, in a merge, the other parent. Seals nothing.

import { compareBytes } from '../../bytes.ts'
import type { ChangeRecord, RecordBody } from '../../format/change-record.ts'
import { checkRecordRules } from '../../format/record-rules.ts'
import { recordHash, signRecord, zeroHash, nameRows } from '../../format/record.ts'
import { beforeGenesis, type Head, type Snapshot } from '../snapshot/snapshot.ts'
import type { CommitContext, OtherParent } from './commit-context.ts'

/** The fields that depend on the kind; the rest follows from the snapshot and the context. */
export type RecordFields = Pick<RecordBody, 'kind'> &
  Partial<
    Pick<
      RecordBody,
      | 'actor'
      | 'session'
      | 'reason'
      | 'directoryNumber'
      | 'keyringHash'
      | 'settingsHash'
      | 'rows'
      | 'grants'
    >
  >

export interface SignedRecord {
  readonly record: ChangeRecord
  readonly bytes: Uint8Array
  readonly hash: Uint8Array
}

export function signNext(
  context: CommitContext,
  snapshot: Snapshot,
  fields: RecordFields,
  other?: OtherParent,
): SignedRecord {
  const { storeId, epoch, signer } = context
  const parents = parentsOf(snapshot, other)
  const record: RecordBody = {
    actor: undefined,
    session: undefined,
    reason: undefined,
    directoryNumber: 0,
    keyringHash: zeroHash,
    settingsHash: zeroHash,
    rows: [],
    grants: [],
    ...fields,
    height: Math.max(-1, ...parents.map(({ height }) => height)) + 1,
    deviceId: signer.deviceId,
    sequence: signer.sequence,
    previous: signer.previous,
    keyring: (other?.keyring ?? snapshot.keyring).record,
    parents: parents.map((parent) => parent.record),
    time: context.time,
  }
  // A record that breaks a rule would make the store unreadable.
  checkRecordRules(record)
  const bytes = signRecord(epoch, record, signer.pair)
  const hash = recordHash(epoch, bytes)
  return { record: nameRows(storeId, record, hash), bytes, hash }
}

/** The parents in ascending order of the record hash (FORMAT §6). */
export function parentsOf({ head }: Snapshot, other: OtherParent | undefined): readonly Head[] {
  if (head === beforeGenesis) return []
  if (other === undefined) return [head]
  return [head, other.head].toSorted((a, b) => compareBytes(a.record, b.record))
}
