// The vectors of stores whose history has branches, of a founder of their own. FORMAT §6.4, §7.2,
// §7.4, §12.

import type { GitObject, Oid } from '../../../src/git/objects/object.ts'
import { formatIdentity } from '../../../src/keys/identity.ts'
import { standardClones } from '../../support/forged-clones.ts'
import { keptRights, lostRights } from '../../support/forged-rights.ts'
import { keptGrants, refusedGrants } from '../../support/grant-cases.ts'
import type { Vector } from '../vector.ts'
import { collect } from './collect.ts'
import { acceptedMerges, type MergeCase } from './merges.ts'
import { refusedMerges } from './refused-merges.ts'

/** Adds their objects to `objects`. */
export async function branched(objects: Map<Oid, GitObject>): Promise<readonly Vector[]> {
  const clones = await standardClones('merge vectors')
  const rights = [...keptRights, ...lostRights].map(([code, name, forging]): MergeCase => {
    return [code, name, code === 'keyring_conflict' ? '7.2' : '7.4', forging]
  })
  const grants = [...keptGrants, ...refusedGrants].map(([code, name, forging]): MergeCase => {
    return [code, name, '12', forging]
  })
  return [...acceptedMerges, ...refusedMerges, ...rights, ...grants].map((one) => {
    const [expect, name, clause, forging] = one
    const forge = forging(clones())
    collect(forge, forge.head, objects)
    const identity = formatIdentity(forge.founder)
    return { name, clause, expect, identity, head: forge.head }
  })
}
