// Chooses the refs of a remote's list that are kept. Anyone who may push there can add refs without
// end, and must not stop a sync by that: of each kind the first names are kept, in order, with
// those that the caller asked for by name, wherever they stand. The others are counted and ignored.

import type { Oid } from '../git/objects/object.ts'
import { listedRefsMax } from '../limits.ts'
import { protocolError } from './pkt-line.ts'
import type { RemoteRefs } from './remote-access.ts'

/** The refs of grants end with a name of 32 hex digits; a kind is the part before it. */
const NAME_LENGTH = 32

export class ListedRefs {
  readonly #wanted: ReadonlySet<string>
  readonly #asked = new Map<string, Oid>()
  readonly #kinds = new Map<string, FirstRefs>()
  #others = 0

  /** `wanted`: names of devices or grants, as refs of grants end with them. */
  constructor(wanted: readonly string[]) {
    this.#wanted = new Set(wanted)
  }

  /** Adds the ref of a grant. Throws `remote_protocol` if it is listed twice. */
  addGrantRef(name: string, oid: Oid): void {
    if (this.#wanted.has(name.slice(-NAME_LENGTH))) {
      if (this.#asked.has(name)) throw contradiction()
      this.#asked.set(name, oid)
      return
    }
    const folder = name.slice(0, -NAME_LENGTH)
    const kind = this.#kinds.get(folder) ?? new FirstRefs()
    this.#kinds.set(folder, kind)
    kind.add(name, oid)
  }

  /** Counts a ref of which the name is not needed. */
  addOther(): void {
    this.#others += 1
  }

  /** In order of name. */
  named(): ReadonlyMap<string, Oid> {
    const kept = [...this.#asked, ...[...this.#kinds.values()].flatMap((kind) => kind.first())]
    return new Map(kept.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }

  ignored(): RemoteRefs['ignored'] {
    const kinds = [...this.#kinds].map(([folder, kind]): [string, number] => {
      return [folder, Math.max(0, kind.listed - listedRefsMax)]
    })
    // People may have a few branches and tags there.
    const others = this.#others > listedRefsMax ? this.#others : 0
    return new Map([...kinds, ['', others] as const].filter(([, count]) => count > 0))
  }
}

/** The first refs of one kind in order of name, whatever order they come in. */
class FirstRefs {
  listed = 0
  #kept = new Map<string, Oid>()
  /** Once there are more: the last name that is kept. */
  #last: string | undefined

  add(name: string, oid: Oid): void {
    if (this.#kept.has(name)) throw contradiction()
    this.listed += 1
    if (this.#last !== undefined && name > this.#last) return
    this.#kept.set(name, oid)
    // Twice as many, so that sorting costs little for each.
    if (this.#kept.size === 2 * listedRefsMax) this.#cut()
  }

  first(): readonly (readonly [string, Oid])[] {
    this.#cut()
    return [...this.#kept]
  }

  #cut(): void {
    if (this.#kept.size <= listedRefsMax) return
    const sorted = [...this.#kept].toSorted(([a], [b]) => (a < b ? -1 : 1))
    this.#kept = new Map(sorted.slice(0, listedRefsMax))
    this.#last = sorted[listedRefsMax - 1]?.[0]
  }
}

function contradiction(): ReturnType<typeof protocolError> {
  return protocolError('its list of refs contradicts itself')
}
