// A store's records without their bytes: their authors, kinds and parents, and which of them are
// valid (FORMAT §7). Each record is made once, whichever clone makes it, so that a history is a set
// of numbers. Rules read records and directories alone, as an auditor does.

export type Kind = 'genesis' | 'change' | 'redact' | 'keyring' | 'settings' | 'grants'

/** A device, a grant as `granter/key`, or `passphrase`, which signs keyrings and nothing else. */
export type Author = string

export type Role = 'owner' | 'writer' | 'reader' | 'removed'

export interface Directory {
  readonly roles: Readonly<Record<Author, Role>>
  /** Grows with each new passphrase: an older one admits no one. */
  readonly passphrase: number
  /** The devices that may give grants. */
  readonly givers: Givers
}

export type Givers = 'owners and writers' | 'owners alone'

export type Edit =
  | { readonly type: 'role'; readonly device: Author; readonly role: Role }
  | { readonly type: 'passphrase' }
  | { readonly type: 'givers'; readonly givers: Givers }

/** The one row of a record of kind `grants`. */
export type Row =
  | { readonly type: 'begins'; readonly grant: Author; readonly role: 'writer' | 'proposer' }
  | { readonly type: 'ends'; readonly grant: Author }

/** Rules that can be left out, to see that the search finds what each of them is for. */
export type Rule =
  /** A merge that has what an owner of once alone may do is signed by an owner of now. */
  | 'owners sign'
  /** Nothing that the remote shows is pushed away unless it is out. */
  | 'push check'
  /** A record is out by the pair of itself and a head, not by that in which it was found late. */
  | 'out by its own pair'
  /** A keyring whose push had no answer remains in force here. */
  | 'pending stays'
  /** A keyring in which the granter may not give ends its grants. */
  | 'keyring ends grants'
  /** A device that begins the key of another device's grant begins another grant. */
  | 'id names granter'
  /** What a grant wrote apart from such a keyring is late, as if a row had ended the grant. */
  | 'S ends by keyring too'
  /** A grant that one side begins is not active in a merge if the other side ends it. */
  | 'begun apart is ended by the other side'
  /** No record of a grant whose role is proposer is valid. */
  | 'proposer refused'

export interface Entry {
  readonly kind: Kind
  readonly author: Author
  readonly parents: readonly number[]
  /** For a keyring: its change of the directory. */
  readonly edit?: Edit | undefined
  readonly row?: Row | undefined
  /** Tells changes apart that have the same author and parents. */
  readonly text?: string | undefined
}

export interface Made extends Entry {
  readonly number: number
  readonly height: number
  /** The newest keyring record of the history: a number. */
  readonly keyring: number
  /** That keyring's. */
  readonly directory: Directory
  readonly history: bigint
}

/** A device alone can be: grants are in no directory. */
export function isInForce({ roles }: Directory, author: Author): boolean {
  return roles[author] === 'owner' || roles[author] === 'writer'
}

export function isOwner({ roles }: Directory, author: Author): boolean {
  return roles[author] === 'owner'
}

export function mayGive(directory: Directory, device: Author): boolean {
  if (directory.givers === 'owners alone') return isOwner(directory, device)
  return isInForce(directory, device)
}

export function isGrant(author: Author): boolean {
  return author.includes('/')
}

export function granterOf(grant: Author): Author {
  return grant.slice(0, grant.indexOf('/'))
}

function isDevice(author: Author): boolean {
  return !isGrant(author) && author !== 'passphrase'
}

function bit(number: number): bigint {
  return 1n << BigInt(number)
}

export class Ledger {
  readonly #made: Made[] = []
  readonly #numbers = new Map<string, number>()
  readonly #validity = new Map<number, boolean>()
  readonly #begins = new Map<string, number | undefined>()
  readonly #without: Rule | undefined

  constructor(without?: Rule) {
    this.#without = without
  }

  get size(): number {
    return this.#made.length
  }

  /** Genesis, with the directory that it brings. */
  found(directory: Directory): number {
    const genesis = { kind: 'genesis', author: 'O1', parents: [], number: 0, height: 0 } as const
    this.#made.push({ ...genesis, keyring: 0, directory, history: 1n })
    return 0
  }

  /** The number of a record, which exists from then on, valid or not. */
  add(entry: Entry): number {
    const parents = entry.parents.toSorted((a, b) => a - b)
    const { kind, author, edit, row, text } = entry
    const key = JSON.stringify([kind, author, parents, edit, row, text])
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.#made.length
    const before = parents.map((parent) => this.at(parent))
    const past = before.reduce((history, made) => history | made.history, 0n)
    const keyring = before.map((made) => made.keyring).reduce((a, b) => (this.has(a, b) ? a : b))
    const { directory } = this.at(keyring)
    this.#made.push({
      ...entry,
      parents,
      number,
      height: 1 + Math.max(...before.map(({ height }) => height)),
      keyring: kind === 'keyring' ? number : keyring,
      directory: edit === undefined ? directory : edited(directory, edit),
      history: past | bit(number),
    })
    this.#numbers.set(key, number)
    return number
  }

  at(number: number): Made {
    const made = this.#made[number]
    if (made === undefined) throw new RangeError(`There is no record ${number}`)
    return made
  }

  has(head: number, number: number): boolean {
    return (this.at(head).history & bit(number)) !== 0n
  }

  /** What the history of one head has and that of another has not, parents first. */
  side(head: number, other: number): readonly Made[] {
    return this.#list(this.at(head).history & ~this.at(other).history)
  }

  past(number: number): readonly Made[] {
    return this.#list(this.at(number).history & ~bit(number))
  }

  #list(set: bigint): readonly Made[] {
    const list: Made[] = []
    for (let rest = set, number = 0; rest > 0n; rest >>= 1n, number += 1) {
      if ((rest & 1n) === 1n) list.push(this.at(number))
    }
    return list
  }

  /** Those that no other of them descends from. */
  newest(among: readonly Made[]): readonly Made[] {
    return among.filter(({ number }) => {
      return among.every((other) => other.number === number || !this.has(other.number, number))
    })
  }

  /** Whether each of two has a newest keyring record that the other has not: rule 2. */
  areApart(one: number, other: number): boolean {
    return !this.has(one, this.at(other).keyring) && !this.has(other, this.at(one).keyring)
  }

  /** The directory of the later keyring of two that are not apart. */
  directoryOf(one: number, other: number): Directory {
    return this.has(one, this.at(other).keyring) ? this.at(one).directory : this.at(other).directory
  }

  /** Whether a device or a grant may write changes on a head. */
  mayWrite(head: number, author: Author): boolean {
    if (!isGrant(author)) return isInForce(this.at(head).directory, author)
    return this.#isWriter(this.begin(head, author))
  }

  /** Whether it may sign a merge of two that are not apart. */
  mayMerge(one: number, other: number, author: Author): boolean {
    if (!isGrant(author)) return isInForce(this.directoryOf(one, other), author)
    return this.#isWriter(this.#beginOfTwo(one, other, author))
  }

  #isWriter(begin: number | undefined): boolean {
    if (begin === undefined) return false
    const { row } = this.at(begin)
    return this.#without === 'proposer refused' || (row?.type === 'begins' && row.role === 'writer')
  }

  /** The begin of a grant that is active after a record (FORMAT §12), decided by its parents. */
  begin(number: number, grant: Author): number | undefined {
    const key = `${number} ${grant}`
    if (this.#begins.has(key)) return this.#begins.get(key)
    const begin = this.#beginAfter(this.at(number), grant)
    this.#begins.set(key, begin)
    return begin
  }

  #beginAfter(made: Made, grant: Author): number | undefined {
    const [one, other] = made.parents
    if (one === undefined) return undefined
    if (other !== undefined) return this.#beginOfTwo(one, other, grant)
    if (this.#doesBegin(made, grant)) return made.number
    return this.#doesEnd(made, grant) ? undefined : this.begin(one, grant)
  }

  #beginOfTwo(one: number, other: number, grant: Author): number | undefined {
    const sides = [this.side(one, other), this.side(other, one)] as const
    if (this.isForked(this.#list(this.at(one).history | this.at(other).history), granterOf(grant)))
      return undefined
    const [ofOne, ofOther] = sides.map((side) => side.some((made) => this.#doesBegin(made, grant)))
    if (ofOne && ofOther) return undefined
    const ended = (side: readonly Made[]): boolean => {
      if (this.#without === 'begun apart is ended by the other side') return false
      return side.some((made) => this.#doesEnd(made, grant))
    }
    if (ofOne) return ended(sides[1]) ? undefined : this.begin(one, grant)
    if (ofOther) return ended(sides[0]) ? undefined : this.begin(other, grant)
    return this.begin(one, grant) === undefined ? undefined : this.begin(other, grant)
  }

  #doesBegin({ row }: Made, grant: Author): boolean {
    return row?.type === 'begins' && this.#isSame(row.grant, grant)
  }

  #doesEnd({ kind, row, directory }: Made, grant: Author): boolean {
    if (row?.type === 'ends') return this.#isSame(row.grant, grant)
    if (this.#without === 'keyring ends grants') return false
    return kind === 'keyring' && !mayGive(directory, granterOf(grant))
  }

  #isSame(one: Author, other: Author): boolean {
    if (this.#without !== 'id names granter') return one === other
    return one.slice(one.indexOf('/')) === other.slice(other.indexOf('/'))
  }

  /** The records of a side that are late against the other head: rules 4 and 5. */
  late(head: number, other: number): ReadonlySet<number> {
    const directory = this.directoryOf(head, other)
    const before = this.at(head).directory
    const enders = this.side(other, head).filter(({ row, kind }) => {
      if (kind === 'keyring') return this.#without !== 'S ends by keyring too'
      return row?.type === 'ends'
    })
    const isEnded = (author: Author): boolean => {
      if (isGrant(author)) return enders.some((made) => this.#doesEnd(made, author))
      return isInForce(before, author) && !isInForce(directory, author)
    }
    const late = new Set<number>()
    for (const { number, kind, author, parents } of this.side(head, other)) {
      if (kind === 'keyring' || (isDevice(author) && isInForce(directory, author))) continue
      if (isEnded(author) || parents.some((parent) => late.has(parent))) late.add(number)
    }
    return late
  }

  /** Whether a record is out for a head: late in the pair of these two, not in another one. */
  isOut(number: number, head: number): boolean {
    return !this.areApart(number, head) && this.late(number, head).has(number)
  }

  /** What forbids a merge of two, or who alone may sign it: rules 2, 5 and 6. */
  verdict(
    one: number,
    other: number,
  ): 'keyring_conflict' | 'record_after_revocation' | 'needs_owner' | 'free' {
    if (this.areApart(one, other)) return 'keyring_conflict'
    if (this.late(one, other).has(one) || this.late(other, one).has(other))
      return 'record_after_revocation'
    if (this.#without === 'owners sign') return 'free'
    const directory = this.directoryOf(one, other)
    const lost = [this.ownersRecords(one, other), this.ownersRecords(other, one)].flat()
    return lost.some(({ author }) => !isOwner(directory, author)) ? 'needs_owner' : 'free'
  }

  /** Records that only an owner may write, by authors who are owners where the side ends. */
  ownersRecords(head: number, other: number): readonly Made[] {
    const { directory } = this.at(head)
    return this.side(head, other).filter(({ kind, author }) => {
      return ['redact', 'settings', 'grants'].includes(kind) && isOwner(directory, author)
    })
  }

  /** Whether two records of a device in a history have no order (FORMAT §8.2). */
  isForked(among: readonly Made[], device: Author): boolean {
    const own = among.filter(({ author }) => author === device && isDevice(device))
    return own.some(({ number }, index) => {
      return own.slice(index + 1).some((later) => !this.has(later.number, number))
    })
  }

  isValid(number: number): boolean {
    const known = this.#validity.get(number)
    if (known !== undefined) return known
    const made = this.at(number)
    const isValid = made.parents.every((parent) => this.isValid(parent)) && this.#judge(made)
    this.#validity.set(number, isValid)
    return isValid
  }

  #judge(made: Made): boolean {
    const { kind, parents } = made
    const [one, other] = parents
    if (one === undefined) return kind === 'genesis'
    if (other === undefined) return this.#isAllowed(made, this.at(one).directory)
    if (kind !== 'change' || this.has(one, other) || this.has(other, one)) return false
    const verdict = this.verdict(one, other)
    if (verdict === 'keyring_conflict' || verdict === 'record_after_revocation') return false
    const directory = this.directoryOf(one, other)
    if (verdict === 'needs_owner' && !isOwner(directory, made.author)) return false
    return this.#isAllowed(made, directory)
  }

  /** Whether the author may write it, by the directory in force. */
  #isAllowed(made: Made, directory: Directory): boolean {
    const { kind, author, edit } = made
    const past = this.past(made.number)
    if (author === 'passphrase') return this.#mayEnrol(made, directory)
    // A change neither begins nor ends a grant: the same ones are active before and after it.
    if (isGrant(author)) return kind === 'change' && this.mayWrite(made.number, author)
    if (!isInForce(directory, author) || this.isForked(past, author)) return false
    if (kind === 'change') return true
    if (kind === 'grants') return this.#mayBeginOrEnd(made, directory)
    return isOwner(directory, author) && (edit === undefined || makesSense(directory, edit))
  }

  #mayBeginOrEnd({ author, row, parents }: Made, directory: Directory): boolean {
    const [parent] = parents
    if (row === undefined || parent === undefined) return false
    const isActive = this.begin(parent, row.grant) !== undefined
    const isGranter = granterOf(row.grant) === author
    if (row.type === 'ends') return isActive && (isGranter || isOwner(directory, author))
    return isGranter && !isActive && mayGive(directory, author)
  }

  /** An attacker knows only the passphrase of genesis. */
  #mayEnrol({ kind, edit }: Made, { passphrase, roles }: Directory): boolean {
    if (kind !== 'keyring' || passphrase > 0 || edit?.type !== 'role') return false
    return edit.role === 'writer' && roles[edit.device] === undefined
  }
}

function edited(directory: Directory, edit: Edit): Directory {
  if (edit.type === 'passphrase') return { ...directory, passphrase: directory.passphrase + 1 }
  if (edit.type === 'givers') return { ...directory, givers: edit.givers }
  return { ...directory, roles: { ...directory.roles, [edit.device]: edit.role } }
}

/** A removed device does not come back, and one owner remains (FORMAT §7.1). */
export function makesSense(directory: Directory, edit: Edit): boolean {
  if (edit.type === 'passphrase') return true
  if (edit.type === 'givers') return edit.givers !== directory.givers
  const { [edit.device]: role } = directory.roles
  if (role === undefined || role === 'removed' || role === edit.role) return false
  return Object.values(edited(directory, edit).roles).includes('owner')
}
