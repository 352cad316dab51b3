// Who may write, and which records no merge takes.

import type { MutatedFile } from '../mutant.ts'

export const access: readonly MutatedFile[] = [
  {
    file: 'store/access/keyring-join.ts',
    mutants: [
      {
        line: 'if (other.gone.includes(slotId)) return false',
        becomes: 'if (other.gone.includes(slotId)) return true',
        test: 'attack/joined-recoveries.test.ts',
        name: 'record_late: that was dropped on the other side admits nobody',
      },
      {
        line: 'return wasMadeOwner(device, sound)',
        becomes: 'return true',
        test: 'attack/stale-keyrings.test.ts',
        name: 'T49: a clone that is behind: who is an owner no more removes nobody there',
      },
      {
        line: 'if (recovery === undefined) return wasGivenOwner(authorId, sound)',
        becomes: 'if (recovery === undefined) return true',
        test: 'attack/self-made-owners.test.ts',
        name: 'and its helper make, also if the helper joins',
      },
      {
        line: 'return [...sound].some(({ addedKeys }) => addedKeys.includes(id))',
        becomes: 'return true',
        test: 'attack/self-made-owners.test.ts',
        name: 'and a recovery key make that it adds',
      },
      {
        line: 'if (roleBy && isStronger(roleBy, device.roleBy))',
        becomes: 'if (false)',
        test: 'attack/squatted-devices.test.ts',
        name: 'T49: a first: the passphrase squats the id of an owner, which has added a device',
      },
      {
        line: 'if (owners.includes(deviceId)) return',
        becomes: 'if (true) return',
        test: 'unit/store/sync/replaced-keys.test.ts',
        name: 'keyring_conflict: a device joins nothing where that would remove it',
      },
    ],
  },
  {
    file: 'store/access/authority.ts',
    mutants: [
      {
        line: `record.kind === 'genesis' || joinsKeyrings(record)`,
        becomes: `record.kind === 'genesis'`,
        test: 'attack/joined-keyrings.test.ts',
        name: 'side, a join is refused record_device: by a device that its second parent removed',
      },
      {
        line: 'if (record.sequence === 0) {',
        becomes: 'if (record.sequence < 0) {',
        test: 'attack/history.test.ts',
        name: 'T7: a record that claims another position is refused record_sequence: number 0',
      },
    ],
  },
  {
    file: 'store/access/lateness.ts',
    mutants: [
      {
        line: 'if (isRemoved || parents.some((parent) => late.has(parent))) late.add(key)',
        becomes: 'if (isRemoved) late.add(key)',
        test: 'attack/vouching.test.ts',
        name: 'T43: a join is refused record_late of a change, and a device enrolled on it',
      },
      {
        line: 'return others.every((other) => findDevice(other, deviceId) !== undefined)',
        becomes: 'return others.length >= 0',
        test: 'attack/vouching.test.ts',
        name: 'of what it built on, if one of two removals did not know it',
      },
      {
        line: 'if (deviceId === undefined || !vouching.has(deviceId)) continue',
        becomes: '',
        test: 'attack/vouching.test.ts',
        name: 'T43: a join is refused record_late the same, once that device has written',
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
