// The texts, paths, clock and randomness of a run: the same in each run and for each contender.

import { createCipheriv, createHash } from 'node:crypto'

const textBytes = 1024
const words =
  'agent build cache deploy error file goal history index journal key log memory note open plan ' +
  'query release search task update verify window yes zone because should never always prefers'

/** Bytes derived from the seed alone: AES-256 in counter mode over zeros. */
export function seededRandom(seed: string): (length: number) => Uint8Array {
  const key = createHash('sha256').update(seed).digest()
  const stream = createCipheriv('aes-256-ctr', key, new Uint8Array(16))
  return (length) => new Uint8Array(stream.update(new Uint8Array(length)))
}

/** A whole number below `bound`, as uniform as 32 bits allow. */
export function seededChoice(seed: string): (bound: number) => number {
  const random = seededRandom(seed)
  return (bound) => {
    const four = random(4)
    return new DataView(four.buffer, four.byteOffset, 4).getUint32(0) % bound
  }
}

/** A clock that goes a second further each time it is read, from a fixed date on. */
export function steppedClock(): () => number {
  let now = Date.UTC(2026, 0, 1)
  return () => (now += 1000)
}

/** The line that a replacement changes: always of the same length, once in a text. */
export function revisionLine(revision: number): string {
  return `revision ${String(revision).padStart(8, '0')}`
}

/** What an agent might note, 1,024 bytes of ASCII in lines; the first is the revision. */
export function noteText(choose: (bound: number) => number): string {
  const vocabulary = words.split(' ')
  let text = `${revisionLine(0)}\n`
  for (let count = 1; text.length < textBytes; count += 1) {
    text += `${vocabulary[choose(vocabulary.length)] ?? ''}${count % 10 === 0 ? '\n' : ' '}`
  }
  return `${text.slice(0, textBytes - 1)}\n`
}

export interface Create {
  readonly path: string
  readonly text: string
}

export interface Replace {
  readonly path: string
  readonly from: string
  readonly to: string
}

/** A note that exists, and the revision that its text says. */
export interface Note {
  readonly path: string
  readonly revision: number
}

/** The commands that one contender is given: new notes, and new revisions of them by turns. */
export class Workload {
  readonly #choose: (bound: number) => number = seededChoice('workload')
  readonly #notes: Note[]
  #created = 0
  #replaced = 0

  /** With notes that the contender has already, replacements begin with those. */
  constructor(existing: readonly Note[] = []) {
    this.#notes = [...existing]
  }

  nextCreate(): Create {
    const path = `new/${this.#created}.md`
    this.#created += 1
    this.#notes.push({ path, revision: 0 })
    return { path, text: noteText(this.#choose) }
  }

  nextReplace(): Replace {
    const index = this.#replaced % this.#notes.length
    const note = this.#notes[index]
    if (note === undefined) throw new RangeError('Create a note before replacing a part of one')
    const revision = note.revision + 1
    this.#replaced += 1
    this.#notes[index] = { path: note.path, revision }
    return { path: note.path, from: revisionLine(note.revision), to: revisionLine(revision) }
  }
}
