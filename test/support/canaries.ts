// Looks for texts that must not be anywhere: in files, in what zlib makes of their parts, and in
// any form in which they might lie there.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { sha256 } from '../../src/crypto/digest.ts'

/** Canaries by the name of the secret that they stand for, so that a match shows the leak. */
export type Canaries = Readonly<Record<string, string>>

/** The canaries in the files at or below a path, as they are and inflated wherever that works. */
export function search(canaries: Canaries, at: string): readonly string[] {
  return filesBelow(at).flatMap((name) => {
    const bytes = orGone(() => readFileSync(name), Buffer.alloc(0))
    const all = [Buffer.from(name), bytes, ...inflatedParts(bytes)]
    return all
      .flatMap((part) => findIn(canaries, part))
      .map((what) => `${what} in ${name.slice(at.length)}`)
  })
}

/** Returns `otherwise` for a file that another test has deleted in between. */
function orGone<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // A socket has no bytes.
    if (code === 'ENOENT' || code === 'ENXIO') return otherwise
    throw error
  }
}

/** The names of the canaries in the bytes. */
export function findIn(canaries: Canaries, bytes: Uint8Array): readonly string[] {
  const haystack = Buffer.from(bytes)
  return Object.entries(canaries).flatMap(([what, text]) =>
    formsOf(text).some((form) => haystack.includes(form)) ? [what] : [],
  )
}

const forms = new Map<string, readonly Buffer[]>()

/** The text as it might lie somewhere: plain, wide, hex, base64 at each alignment, or its hash. */
function formsOf(text: string): readonly Buffer[] {
  const known = forms.get(text)
  if (known !== undefined) return known
  const plain = Buffer.from(text)
  const base64 = [0, 1, 2].map((shift) => {
    const whole = Buffer.concat([Buffer.alloc(shift), plain]).toString('base64')
    return Buffer.from(whole.slice(shift === 0 ? 0 : 4, -4))
  })
  const hash = Buffer.from(sha256(plain))
  const made = [
    plain,
    Buffer.from(text.toLowerCase()),
    Buffer.from(text, 'utf16le'),
    Buffer.from(plain.toString('hex')),
    hash,
    Buffer.from(hash.toString('hex')),
    ...base64,
  ]
  forms.set(text, made)
  return made
}

/** What zlib makes of the bytes behind each of its headers. */
function inflatedParts(bytes: Buffer): readonly Buffer[] {
  const parts: Buffer[] = []
  for (let at = bytes.indexOf(0x78); at !== -1; at = bytes.indexOf(0x78, at + 1)) {
    const check = (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0)
    if (check % 31 !== 0) continue
    try {
      parts.push(inflateSync(bytes.subarray(at), { maxOutputLength: 1 << 24 }))
    } catch {
      // Not the beginning of a stream.
    }
  }
  return parts
}

export function filesBelow(at: string): readonly string[] {
  const status = statSync(at, { throwIfNoEntry: false })
  if (status === undefined) return []
  if (!status.isDirectory()) return [at]
  return orGone(() => readdirSync(at), []).flatMap((name) => filesBelow(join(at, name)))
}
