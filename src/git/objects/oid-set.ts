// A set of oids with twenty bytes each; strings would take ten times the memory. Pure.

import type { Oid } from './object.ts'
import { oidBytes, OidList } from './oid-list.ts'

/** The common part of a `Set` of oids and an `OidSet`. */
export interface Oids extends Iterable<Oid> {
  readonly size: number
  has(oid: Oid): boolean
}

export class OidSet implements Oids {
  readonly list: OidList

  constructor(list: OidList) {
    this.list = list
  }

  get size(): number {
    return this.list.count
  }

  has(oid: Oid): boolean {
    return this.list.hasOid(oid)
  }

  /** In ascending order. */
  *[Symbol.iterator](): Generator<Oid> {
    const { bytes } = this.list
    for (let at = 0; at < bytes.length; at += oidBytes) {
      yield bytes.toString('hex', at, at + oidBytes)
    }
  }
}

/** The same oids as a list, without a copy where there is one. */
export function listOf(oids: Oids): OidList {
  return oids instanceof OidSet ? oids.list : OidList.of(oids)
}
