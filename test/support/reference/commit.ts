// FORMAT §6: the canonical bytes of a commit. Parsing takes the parts out and is lax about what the
// comparison with the re-made bytes decides anyway.

import { ascii, equal, utf8 } from './bytes.ts'
import { ensure, refuse } from './refusal.ts'
import { base64Lines, sshSignature } from './sshsig.ts'

const commitBytesMax = 32 * 1024 * 1024
/** 16,384 rows and two parents, padded and sealed. */
const recordBytesMax = 1_327_616 + 96
const timeOfHeightZero = 1_000_000_000

export interface Commit {
  readonly tree: string
  readonly parents: readonly string[]
  readonly height: number
  /** Sealed. */
  readonly record: Uint8Array
  /** Sealed; in change commits only. */
  readonly detail: Uint8Array | undefined
}

export interface ParsedCommit extends Commit {
  /** The armor, which ends in a newline. */
  readonly signature: string
}

function headers(commit: Commit): string {
  const person = `gitlocket <gitlocket@localhost> ${timeOfHeightZero + commit.height} +0000\n`
  const parents = commit.parents.map((oid) => `parent ${oid}\n`).join('')
  return `tree ${commit.tree}\n${parents}author ${person}committer ${person}`
}

function block(name: string, envelope: Uint8Array): string {
  const [begin, end] = [`-----BEGIN GITLOCKET ${name}-----`, `-----END GITLOCKET ${name}-----`]
  return `${begin}\n${base64Lines(envelope, 72)}${end}\n`
}

function message(commit: Commit): string {
  const detail = commit.detail === undefined ? '' : block('DETAIL', commit.detail)
  return `\ngitlocket change\n\n${block('RECORD', commit.record)}${detail}`
}

/** What the group signature signs. */
function unsignedCommit(commit: Commit): Uint8Array {
  return utf8(headers(commit) + message(commit))
}

/** The commit with this armor as its signature. */
function commitWithSignature(commit: Commit, armor: string): Uint8Array {
  const header = `gpgsig ${armor.slice(0, -1).replaceAll('\n', '\n ')}\n`
  return utf8(headers(commit) + header + message(commit))
}

export function encodeCommit(commit: Commit, groupSeed: Uint8Array): Uint8Array {
  return commitWithSignature(commit, sshSignature(unsignedCommit(commit), groupSeed))
}

/** Takes the parts out; else `commit_too_large` or `commit_malformed`. */
export function parseCommit(bytes: Uint8Array): ParsedCommit {
  ensure(bytes.length <= commitBytesMax, 'commit_too_large', 'A commit has at most 32 MiB')
  const lines = new Lines(ascii(bytes))
  const tree = lines.match(/^tree ([0-9a-f]{40})$/)
  const parents: string[] = []
  while (lines.peek().startsWith('parent ')) parents.push(lines.match(/^parent ([0-9a-f]{40})$/))
  ensure(parents.length <= 2, 'commit_malformed', 'A commit has at most two parents')
  const time = Number(lines.match(/^author gitlocket <gitlocket@localhost> (\d{1,16}) \+0000$/))
  const height = time - timeOfHeightZero
  ensure(Number.isSafeInteger(time) && height >= 0, 'commit_malformed', 'The height is impossible')
  lines.match(/^(committer gitlocket <gitlocket@localhost> \d{1,16} \+0000)$/)
  let signature = `${lines.match(/^gpgsig (.*)$/)}\n`
  while (lines.peek().startsWith(' ')) signature += `${lines.next().slice(1)}\n`
  for (const line of ['', 'gitlocket change', '']) lines.expect(line)
  const record = lines.block('RECORD')
  ensure(record.length <= recordBytesMax, 'commit_too_large', 'A record has at most 16,384 rows')
  const hasDetail = lines.peek() === '-----BEGIN GITLOCKET DETAIL-----'
  const detail = hasDetail ? lines.block('DETAIL') : undefined
  lines.end()
  return { tree, parents, height, record, detail, signature }
}

/** Everything but the signature, which needs no key; else `commit_not_canonical`. */
export function checkCanonical(bytes: Uint8Array, commit: ParsedCommit): void {
  const same = equal(bytes, commitWithSignature(commit, commit.signature))
  ensure(same, 'commit_not_canonical', 'The commit has another form than the one allowed')
}

/** Re-makes the signature and compares; else `group_signature_invalid`. */
export function checkGroupSignature(commit: ParsedCommit, groupSeed: Uint8Array): void {
  const same = commit.signature === sshSignature(unsignedCommit(commit), groupSeed)
  ensure(same, 'group_signature_invalid', 'The group signature is not the one of its epoch')
}

class Lines {
  readonly #lines: readonly string[]
  #at = 0

  constructor(text: string) {
    ensure(text.endsWith('\n'), 'commit_malformed', 'A commit ends in a newline')
    this.#lines = text.slice(0, -1).split('\n')
  }

  peek(): string {
    return this.#lines[this.#at] ?? ''
  }

  next(): string {
    const line = this.#lines[this.#at]
    if (line === undefined) return refuse('commit_malformed', 'A commit ends too early')
    this.#at += 1
    return line
  }

  expect(wanted: string): void {
    ensure(this.next() === wanted, 'commit_malformed', 'A fixed line of the commit is missing')
  }

  /** What the group of the pattern matches in the next line. */
  match(pattern: RegExp): string {
    const found = pattern.exec(this.next())?.[1]
    return found ?? refuse('commit_malformed', 'A header of the commit is missing')
  }

  block(name: string): Uint8Array {
    this.expect(`-----BEGIN GITLOCKET ${name}-----`)
    const end = `-----END GITLOCKET ${name}-----`
    const body: string[] = []
    for (let line = this.next(); line !== end; line = this.next()) body.push(line)
    return new Uint8Array(Buffer.from(body.join(''), 'base64'))
  }

  end(): void {
    ensure(this.#at === this.#lines.length, 'commit_malformed', 'Lines follow the last block')
  }
}
