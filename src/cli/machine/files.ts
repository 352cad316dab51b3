// Files that commands read and write: secrets, imported and exported texts. Messages name the file,
// which the user gave or can change, and never its contents. New files are 0600.

import { isUtf8 } from 'node:buffer'
import { statSync, writeFileSync } from 'node:fs'
import { concatBytes, utf8Text } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { attempt, capitalised, plainTextOf, readNamed, textOf } from '../../home/files.ts'
import { certificateBytesMax, contentBytesFormatMax, reportBytesMax } from '../../limits.ts'
import { MARK, onlyLine } from '../../plain-input.ts'

/** Reads the text of a memory, byte for byte. Throws `content_too_large` if it is too long. */
export function readTextFile(what: string, path: string): string {
  return textOf(readBytes(what, path, ofMemory), what)
}

/** Reads a pattern, a key or a card, without the marks of the program that wrote the file. */
export function readPlainFile(what: string, path: string): string {
  return plainTextOf(readBytes(what, path, ofMemory), what)
}

/** Reads a certificate of a redaction, which may be larger than a memory. */
export function readCertificateFile(path: string): string {
  const what = 'the certificate'
  return plainTextOf(readBytes(what, path, ofCertificate), what)
}

/** Reads the file of a report, as it is. */
export function readReportFile(path: string): Uint8Array {
  return readBytes('the report', path, ofReport)
}

/** The bound of a size, and the name of the thing. */
interface Bound {
  readonly limit: number
  readonly kind: string
}

const ofMemory: Bound = { limit: contentBytesFormatMax, kind: 'a memory' }
const ofCertificate: Bound = { limit: certificateBytesMax, kind: 'a certificate' }
const ofReport: Bound = { limit: reportBytesMax, kind: 'a report' }

function readBytes(what: string, path: string, bound: Bound): Uint8Array {
  const bytes = attempt(`read ${what}`, path, () => {
    // A pipe has no size, and is read as far as is allowed.
    checkSize(what, statSync(path).size, bound)
    return readNamed(path, bound.limit)
  })
  checkSize(what, bytes.length, bound)
  return bytes
}

/** Everything on standard input, byte for byte. */
export async function readStandardInput(): Promise<string> {
  return textOf(await readStandardBytes(), 'standard input')
}

/** JSON or a card on standard input, without the marks of the program that wrote it. */
export async function readPlainInput(): Promise<string> {
  return plainTextOf(await readStandardBytes(), 'standard input')
}

async function readStandardBytes(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of process.stdin) {
    const bytes = Buffer.from(chunk)
    length += bytes.length
    checkSize('standard input', length, ofMemory)
    chunks.push(bytes)
  }
  return concatBytes(...chunks)
}

function checkSize(what: string, actual: number, { limit, kind }: Bound): void {
  if (actual <= limit) return
  throw new StoreError(
    'content_too_large',
    `${capitalised(what)} is larger than ${kind} can be: at most ${limit} bytes`,
    { details: { actual, limit } },
  )
}

/** The only line of a file that holds a secret. Throws `invalid_input`. */
export function readSecretFile(what: string, path: string): string {
  return readMarkedSecret(what, path)[0]
}

/** The same, and the line with its byte-order mark if the file begins with one. */
export function readMarkedSecret(what: string, path: string): readonly [string, string?] {
  const name = `the file with ${what}`
  const bytes = readBytes(name, path, ofMemory)
  const secret = onlyLine(plainTextOf(bytes, name))
  if (secret !== undefined)
    return isUtf8(bytes) && utf8Text(bytes).startsWith(MARK) ? [secret, MARK + secret] : [secret]
  throw new StoreError('invalid_input', `The file with ${what} must hold it in one line`)
}

/** Writes a new file that only its owner can read. Never replaces one: `path_conflict`. */
export function writeNewFile(what: string, path: string, text: string): void {
  attempt(`write ${what}`, path, () => writeFileSync(path, text, { flag: 'wx', mode: 0o600 }))
}

/** `dev_…`, `ssh-ed25519 …`, or the only line of a file that holds one of them. */
export function readKey(given: string): string {
  if (/^(?:dev_|ssh-ed25519 )/.test(given)) return given
  const lines = readPlainFile('the key', given)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const [line] = lines
  if (line !== undefined && lines.length === 1) return line.trim()
  throw new StoreError('invalid_input', 'The file of the key must hold one, as in a .pub file')
}
