// The defects of grants and of clones that begin without history: what a holder believes, what it
// takes from a remote, and what a granter keeps there.

import { type MutantList, swap } from './mutant.ts'

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
}
