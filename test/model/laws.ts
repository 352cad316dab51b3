// The laws of the history of every head of an honest clone (FORMAT §0.3, §7.4, §12). They read the
// set of records, and do not go from parents to children as the rules of the ledger do.

import {
  type Author,
  type Directory,
  granterOf,
  isGrant,
  isInForce,
  isOwner,
  type Ledger,
  type Made,
  mayGive,
} from './ledger.ts'

export class Laws {
  readonly #ledger: Ledger

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** The laws that a head breaks. */
  *brokenBy(head: number): Generator<string> {
    const history = [...this.#ledger.past(head), this.#ledger.at(head)]
    yield* this.#ofAuthority(history)
    const grants = history.flatMap(({ row }) => (row?.type === 'begins' ? [row.grant] : []))
    for (const grant of new Set(grants)) yield* this.#ofGrant(head, history, grant)
    for (const one of history.filter(({ author }) => isGrant(author))) {
      yield* this.#ofHolder(history, one)
    }
  }

  /**
   * A device writes nothing after its right has ended, except for records that others built on
   * before; and an owner's records that are apart from the end of its right need an owner.
   */
  *#ofAuthority(history: readonly Made[]): Generator<string> {
    const ledger = this.#ledger
    const merges = history.filter(({ parents }) => parents.length === 2)
    for (const keyring of history.filter(({ kind }) => kind === 'keyring')) {
      for (const one of history) {
        const { number, author, kind } = one
        if (ledger.has(keyring.number, number) || ledger.has(number, keyring.number)) continue
        for (const merge of merges) {
          const parent = this.#joins(merge, number, keyring.number)
          if (parent === undefined) continue
          const hasLost = (has: (directory: Directory, author: Author) => boolean): boolean => {
            const { directory } = ledger.at(parent)
            return (
              [keyring, merge].every((made) => !has(made.directory, author)) &&
              has(directory, author)
            )
          }
          if (hasLost(isInForce) && !this.#isVouched(history, one, keyring, merge)) {
            yield 'a late record is in a head'
          }
          if (kind === 'redact' && hasLost(isOwner) && !isOwner(merge.directory, merge.author)) {
            yield 'what only an owner may do counts without an owner'
          }
        }
      }
    }
  }

  *#ofGrant(head: number, history: readonly Made[], grant: Author): Generator<string> {
    const ledger = this.#ledger
    const granter = granterOf(grant)
    const begin = ledger.begin(head, grant)
    if (begin !== this.#beginIn(history, grant)) {
      yield 'a grant is active or not by the way in which its history was made'
    }
    if (begin === undefined) {
      if (!this.#isRightlyEnded(history, grant)) yield 'a grant ended, and none who may ended it'
      return
    }
    if (!mayGive(ledger.at(head).directory, granter)) yield 'a grant of who may not give is active'
    for (const { number, kind, directory } of history) {
      // This includes keyrings that are apart from the begin.
      if (kind === 'keyring' && !mayGive(directory, granter) && !ledger.has(begin, number)) {
        yield 'a grant is active whose granter lost the right since'
      }
      if (ledger.has(number, begin) && ledger.begin(number, grant) !== begin) {
        yield 'a grant that had ended is active again'
      }
    }
  }

  /**
   * The one begin that has all ends of the grant in its causal past, as §12 defines it, if the
   * granter is not forked. The ledger decides by parents instead.
   */
  #beginIn(history: readonly Made[], grant: Author): number | undefined {
    if (this.#ledger.isForked(history, granterOf(grant))) return undefined
    const all = history.filter((made) => ends(made, grant))
    const [begin, ...more] = history.filter((made) => {
      return begins(made, grant) && all.every(({ number }) => this.#ledger.has(made.number, number))
    })
    return more.length === 0 ? begin?.number : undefined
  }

  /** Whether the granter, an owner or a keyring ended it, or its granter is forked. */
  #isRightlyEnded(history: readonly Made[], grant: Author): boolean {
    const granter = granterOf(grant)
    if (this.#ledger.isForked(history, granter)) return true
    const [begin] = this.#ledger.newest(history.filter((made) => begins(made, grant)))
    return history.some((made) => {
      const { number, kind, author, directory } = made
      if (begin === undefined || this.#ledger.has(begin.number, number)) return false
      const isAllowed = kind === 'keyring' || author === granter || isOwner(directory, author)
      return isAllowed && ends(made, grant)
    })
  }

  /** What the holder of a grant wrote. */
  *#ofHolder(history: readonly Made[], one: Made): Generator<string> {
    const ledger = this.#ledger
    const begin = this.#beginIn(ledger.past(one.number), one.author)
    const row = begin === undefined ? undefined : ledger.at(begin).row
    if (row === undefined) yield 'a record of a grant is on a head where that is not active'
    if (row?.type === 'begins' && row.role === 'proposer') yield 'a record of a proposer is valid'
    const isApart = (end: number): boolean => {
      return !ledger.has(end, one.number) && !ledger.has(one.number, end)
    }
    const apart = history.filter((made) => ends(made, one.author) && isApart(made.number))
    for (const end of apart) {
      for (const merge of history) {
        const parent = this.#joins(merge, one.number, end.number)
        if (parent !== undefined && !this.#isVouched(history, one, end, merge)) {
          yield 'a record of an ended grant is in a head'
        }
      }
    }
  }

  /** The parent of a merge that has a record, if the end is in the other parent alone. */
  #joins({ parents: [one, other] }: Made, record: number, end: number): number | undefined {
    if (one === undefined || other === undefined) return undefined
    const has = (parent: number, that: number, not: number): boolean => {
      return this.#ledger.has(parent, that) && !this.#ledger.has(parent, not)
    }
    if (has(one, record, end) && has(other, end, record)) return one
    return has(other, record, end) && has(one, end, record) ? other : undefined
  }

  /** Whether a device that a merge has in force built on a record apart from the end. */
  #isVouched(history: readonly Made[], one: Made, end: Made, merge: Made): boolean {
    const ledger = this.#ledger
    return history.some(({ number, kind, author }) => {
      if (!ledger.has(number, one.number) || ledger.has(number, end.number)) return false
      if (!ledger.has(merge.number, number)) return false
      return kind === 'keyring' || isInForce(merge.directory, author)
    })
  }
}

function begins({ row }: Made, grant: Author): boolean {
  return row?.type === 'begins' && row.grant === grant
}

function ends({ kind, row, directory }: Made, grant: Author): boolean {
  if (kind === 'keyring') return !mayGive(directory, granterOf(grant))
  return row?.type === 'ends' && row.grant === grant
}
