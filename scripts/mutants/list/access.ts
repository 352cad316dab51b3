// Who may write, and which records no merge takes.

import type { MutatedFile } from '../mutant.ts'

export const access: readonly MutatedFile[] = [
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
        name: 'of what the enrolled device built on, when a join has let it in',
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
