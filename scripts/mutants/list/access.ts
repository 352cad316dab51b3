// Who may write, and which records no merge takes.

import type { MutatedFile } from '../mutant.ts'

export const access: readonly MutatedFile[] = [
  {
    file: 'store/access/lateness.ts',
    mutants: [
      {
        line: '|| (author !== undefined && vouches(after, author))) continue',
        becomes: ') continue',
        test: 'attack/lost-rights.test.ts',
        name: 'accepted: a merge of what a removed owner wrote, and a writer has built on',
      },
      {
        line: `return role === 'owner' || role === 'writer'`,
        becomes: 'return role !== undefined',
        test: 'attack/lost-rights.test.ts',
        name: 'record_late: a merge of what a device wrote that may only read now',
      },
      {
        line: 'isOwner(before, deviceId) && !isOwner(after, deviceId)',
        becomes: 'isOwner(before, deviceId)',
        test: 'attack/lost-rights.test.ts',
        name: 'accepted: a merge of a redaction',
      },
    ],
  },
  {
    file: 'store/access/grants.ts',
    mutants: [
      {
        line: 'known !== undefined || isOfMember(directory, key)',
        becomes: 'known !== undefined',
        test: 'attack/grants.test.ts',
        name: 'T79 grant_known: a grant with the key of a device',
      },
      {
        line: 'if (ended || time > notAfter)',
        becomes: 'if (ended)',
        test: 'attack/grants.test.ts',
        name: 'T79 grant_ended: a change later than the grant runs',
      },
      {
        line: '!isInForce(directory, granter) || deviceOf(granter)?.forked === true',
        becomes: 'deviceOf(granter)?.forked === true',
        test: 'attack/grants.test.ts',
        name: 'T79 record_device: a change after the granter was removed',
      },
    ],
  },
  {
    file: 'store/access/authority.ts',
    mutants: [
      {
        line: 'if (record.sequence === 0) {',
        becomes: 'if (record.sequence < 0) {',
        test: 'attack/history.test.ts',
        name: 'T7: a record that claims another position is refused record_sequence: number 0',
      },
    ],
  },
  {
    file: 'store/audit/trail.ts',
    mutants: [
      {
        line: 'checkAccepted(leftOut, options)',
        becomes: '',
        test: 'attack/shrinking-trail.test.ts',
        name: 'stays in the trail of an auditor until that is accepted',
      },
      {
        line: 'if (leftOut !== undefined) await list.add(leftOut)',
        becomes: '',
        test: 'attack/shrinking-trail.test.ts',
        name: 'stays listed after a redaction has erased the commits',
      },
    ],
  },
]
