// The vectors of stores whose history has branches, of a founder of their own. FORMAT §6.4, §7.2.

import type { GitObject, Oid } from '../../../src/git/objects/object.ts'
import { formatIdentity } from '../../../src/keys/identity.ts'
import { standardClones } from '../../support/forged-clones.ts'
import type { Vector } from '../vector.ts'
import { collect } from './collect.ts'
import { acceptedMerges } from './merges.ts'
import { raisedOwners } from './raised-owners.ts'
import { refusedMerges } from './refused-merges.ts'

/** Adds what they are made of to `objects`. */
export async function branched(objects: Map<Oid, GitObject>): Promise<readonly Vector[]> {
  const clones = await standardClones('merge vectors')
  return [...acceptedMerges, ...refusedMerges, ...raisedOwners].map((one) => {
    const [expect, name, clause, forging] = one
    const forge = forging(clones())
    collect(forge, forge.head, objects)
    const identity = formatIdentity(forge.founder)
    return { name, clause, expect, identity, head: forge.head }
  })
}
