// A set of object names that takes twenty bytes for each: as strings they would take ten times the
// room. Pure.

import type { Oid } from './object.ts'
import { oidBytes, type OidList } from './oid-list.ts'

/** What a `Set` of oids and an `OidSet` have in common. */
export interface Oids extends Iterable<Oid> {
  readonly size: number
  has(oid: Oid): boolean
}

export class OidSet implements Oids {
  readonly #list: OidList

  constructor(list: OidList) {
    this.#list = list
  }

  get size(): number {
    return this.#list.count
  }

  has(oid: Oid): boolean {
    return this.#list.hasOid(oid)
  }

  /** Ascending. */
  *[Symbol.iterator](): Generator<Oid> {
    const { bytes } = this.#list
    for (let at = 0; at < bytes.length; at += oidBytes) {
      yield bytes.toString('hex', at, at + oidBytes)
    }
  }
}
