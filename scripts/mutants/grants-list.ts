// The defects of grants and of clones that begin without history: what a holder believes, what it
// takes from a remote, and what a granter keeps there.

import { type MutantList, never, swap, without } from './mutant.ts'

export const grants: MutantList = {
  'attack/grants.test.ts': [
    swap(
      'applyRow',
      ['|| isOfMember(directory, key)', ''],
      'T79 grant_known: a grant with the key of a device',
    ),
    swap(
      'checkGrantAuthor',
      ['|| time > notAfter', ''],
      'T79 grant_ended: a change later than the grant runs',
    ),
    without(
      'openWraps',
      'verifySignature(',
      'those of another member are refused, although it has the keys',
    ),
    without(
      'openStartOf',
      'verifySignature(',
      'those of another member are refused, although it has the keys',
    ),
  ],
  'attack/redaction.test.ts': [
    swap(
      'checkRedactTarget',
      ['context.attested?.has(row.versionId) === true', 'true'],
      'a redaction of an earlier version needs the word of the granter',
    ),
    swap(
      'verifyBegun',
      ['[...attested, ...found.redacted]', 'attested'],
      'a redaction of a later version is accepted, and rewritten commits alone',
    ),
  ],
  'attack/false-starts.test.ts': [
    swap(
      'checkFile',
      ['equalBytes(getBlob(objects, oid, `${name}_mismatch`), blob)', 'blob.length > 0'],
      'settings_mismatch: other settings',
    ),
    swap(
      'snapshotOf',
      ['!equalBytes(record, state.record) ||', ''],
      'tree_mismatch: another record',
    ),
    never('memoriesOf', 'live !== blobs.size', 'tree_mismatch: a memory is left out'),
    swap(
      'checkGranted',
      ['isHis && isGrantInForce({ keyring, devices }, grant)', 'isHis'],
      'grant_expired: a granter that is forked',
    ),
  ],
  'attack/held-starts.test.ts': [
    never(
      'verify',
      '!records.has(toHex(start.state.record))',
      'another line of the store, of members, is refused',
    ),
  ],
  'attack/holder-work.test.ts': [
    swap(
      'deepen',
      ['below < 0 || below > historyDepthMax', 'false'],
      'at a height of 4503599627370496 is refused by open clones and new ones',
    ),
  ],
  'attack/granted-starts.test.ts': [
    swap(
      'findForeign',
      ['!isComplete || isOlder', 'isOlder'],
      'a start of another device that lacks a redaction is removed by any sync',
    ),
    swap(
      'planOwn',
      ['needsWraps || isStartLost ||', 'needsWraps ||'],
      'a member with all keys cannot put its start in the place of another',
    ),
  ],
  'attack/partial-history.test.ts': [
    never(
      'readBoundary',
      'left && !asked.has(oid)',
      'that sends parents of another commit is refused',
    ),
    never(
      'readBoundary',
      'moved.shallow.size > boundaryCommitsMax',
      'that has no end of lines is refused',
    ),
  ],
}
