// A store's records without their bytes: their authors, kinds and parents, and which of them are
// valid (FORMAT §7). Each record is made once, whichever clone makes it, so that a history is a set
// of numbers. Rules read records and directories alone, as an auditor does.

export type Kind = 'genesis' | 'change' | 'redact' | 'keyring' | 'settings' | 'grants'

/** A device, `grant` (of a device), or `passphrase`, which signs keyrings and nothing else. */
export type Author = string

export type Role = 'owner' | 'writer' | 'reader' | 'removed'

export interface Directory {
  readonly roles: Readonly<Record<Author, Role>>
  /** Grows with each new passphrase: an older one admits no one. */
  readonly passphrase: number
}

export type Edit =
  | { readonly type: 'role'; readonly device: Author; readonly role: Role }
  | { readonly type: 'passphrase' }

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

export interface Entry {
  readonly kind: Kind
  readonly author: Author
  readonly parents: readonly number[]
  /** For a keyring: its change of the directory. */
  readonly edit?: Edit | undefined
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

/** The device that gave the one grant. */
const granter = 'O2'

export function isInForce({ roles }: Directory, author: Author): boolean {
  const role = roles[author === 'grant' ? granter : author]
  return role === 'owner' || role === 'writer'
}

export function isOwner({ roles }: Directory, author: Author): boolean {
  return roles[author] === 'owner'
}

function isDevice(author: Author): boolean {
  return author !== 'grant' && author !== 'passphrase'
}

function bit(number: number): bigint {
  return 1n << BigInt(number)
}

export class Ledger {
  readonly #made: Made[] = []
  readonly #numbers = new Map<string, number>()
  readonly #validity = new Map<number, boolean>()
  readonly #without: Rule | undefined

  constructor(without?: Rule) {
    this.#without = without
  }

  get size(): number {
    return this.#made.length
  }

  /** Genesis, with the directory that it brings. */
  begin(directory: Directory): number {
    const genesis = { kind: 'genesis', author: 'O1', parents: [], number: 0, height: 0 } as const
    this.#made.push({ ...genesis, keyring: 0, directory, history: 1n })
    return 0
  }

  /** The number of a record, which exists from then on, valid or not. */
  add(entry: Entry): number {
    const parents = entry.parents.toSorted((a, b) => a - b)
    const key = JSON.stringify([entry.kind, entry.author, parents, entry.edit, entry.text])
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
      keyring: entry.kind === 'keyring' ? number : keyring,
      directory: entry.edit === undefined ? directory : edited(directory, entry.edit),
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

  /** The records of a side that are late against the other head: rules 4 and 5. */
  late(head: number, other: number): ReadonlySet<number> {
    const directory = this.directoryOf(head, other)
    const before = this.at(head).directory
    const isGrantEnded = this.side(other, head).some(({ kind }) => kind === 'grants')
    const isEnded = (author: Author): boolean => {
      if (author === 'grant' && isGrantEnded) return true
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
  verdict(one: number, other: number): 'keyring_conflict' | 'record_late' | 'needs_owner' | 'free' {
    if (this.areApart(one, other)) return 'keyring_conflict'
    if (this.late(one, other).has(one) || this.late(other, one).has(other)) return 'record_late'
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
    if (verdict === 'keyring_conflict' || verdict === 'record_late') return false
    const directory = this.directoryOf(one, other)
    if (verdict === 'needs_owner' && !isOwner(directory, made.author)) return false
    return this.#isAllowed(made, directory)
  }

  /** Whether the author may write it, by the directory in force. */
  #isAllowed(made: Made, directory: Directory): boolean {
    const { kind, author, edit } = made
    const past = this.past(made.number)
    if (author === 'passphrase') return this.#mayEnrol(made, directory)
    if (!isInForce(directory, author) || this.isForked(past, author)) return false
    if (author === 'grant') return kind === 'change' && past.every((one) => one.kind !== 'grants')
    if (kind === 'change') return true
    return isOwner(directory, author) && (edit === undefined || makesSense(directory, edit))
  }

  /** An attacker knows only the passphrase of genesis. */
  #mayEnrol({ kind, edit }: Made, { passphrase, roles }: Directory): boolean {
    if (kind !== 'keyring' || passphrase > 0 || edit?.type !== 'role') return false
    return edit.role === 'writer' && roles[edit.device] === undefined
  }
}

function edited(directory: Directory, edit: Edit): Directory {
  const { roles, passphrase } = directory
  if (edit.type === 'passphrase') return { roles, passphrase: passphrase + 1 }
  return { roles: { ...roles, [edit.device]: edit.role }, passphrase }
}

/** A removed device does not come back, and one owner remains (FORMAT §7.1). */
export function makesSense(directory: Directory, edit: Edit): boolean {
  if (edit.type === 'passphrase') return true
  const { [edit.device]: role } = directory.roles
  if (role === undefined || role === 'removed' || role === edit.role) return false
  return Object.values(edited(directory, edit).roles).includes('owner')
}
