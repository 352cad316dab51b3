// Vectors of joins with what a device did that one side alone had made an owner. FORMAT §7.2.

import { change, type Clones, removeDevice } from '../../support/forged-clones.ts'
import type { MergeCase } from './merges.ts'

/** On the right the second owner raises the reader, and that raises the writer. */
function raised({ right, reader, writer, second }: Clones): void {
  change(right, reader, { role: 'owner' }, second)
  change(right, writer, { role: 'owner' }, reader)
}

export const raisedOwners: readonly MergeCase[] = [
  [
    'accepted',
    'a join with what a device gave that one side had made an owner',
    '7.2',
    (clones) => {
      const { left, right } = clones
      raised(clones)
      left.keyring((next) => next, { epoch: left.newEpoch() })
      left.joinWith(right)
      return left
    },
  ],
  [
    'record_late',
    'a join with what a device gave whose role the other side has lowered',
    '7.2',
    (clones) => {
      const { left, right, reader } = clones
      raised(clones)
      change(left, reader, { role: 'auditor' })
      left.joinWith(right)
      return left
    },
  ],
  [
    'record_late',
    'a join with what a device gave that a removed owner had raised',
    '7.2',
    (clones) => {
      const { left, right, second } = clones
      raised(clones)
      removeDevice(left, second)
      left.joinWith(right)
      return left
    },
  ],
]
