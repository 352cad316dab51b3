// Files that commands read and write: secrets, imported and exported texts. Messages name the file,
// which the user gave or can change, and never its contents. New files are 0600.

import { statSync, writeFileSync } from 'node:fs'
import { concatBytes } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { attempt, capitalised, readNamed, textOf } from '../home/files.ts'
import { certificateBytesMax, contentBytesFormatMax, reportBytesMax } from '../limits.ts'

/** Reads a text that is to become a memory. Throws `content_too_large` if it cannot. */
export function readTextFile(what: string, path: string): string {
  return readText(what, path, ofMemory)
}

/** Reads a certificate of a redaction, which may be larger than a memory. */
export function readCertificateFile(path: string): string {
  return readText('the certificate', path, ofCertificate)
}

/** Reads the file of a report, as it is. */
export function readReportFile(path: string): Uint8Array {
  return readBytes('the report', path, ofReport)
}

/** The bound of a size, and what it is the bound of. */
interface Bound {
  readonly limit: number
  readonly kind: string
}

const ofMemory: Bound = { limit: contentBytesFormatMax, kind: 'a memory' }
const ofCertificate: Bound = { limit: certificateBytesMax, kind: 'a certificate' }
const ofReport: Bound = { limit: reportBytesMax, kind: 'a report' }

function readText(what: string, path: string, bound: Bound): string {
  return textOf(readBytes(what, path, bound), what)
}

function readBytes(what: string, path: string, bound: Bound): Uint8Array {
  const bytes = attempt(`read ${what}`, path, () => {
    // A pipe has no size, and is read as far as is allowed.
    checkSize(what, statSync(path).size, bound)
    return readNamed(path, bound.limit)
  })
  checkSize(what, bytes.length, bound)
  return bytes
}

/** Everything on standard input. */
export async function readStandardInput(): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of process.stdin) {
    const bytes = Buffer.from(chunk)
    length += bytes.length
    checkSize('standard input', length, ofMemory)
    chunks.push(bytes)
  }
  return textOf(concatBytes(...chunks), 'standard input')
}

function checkSize(what: string, actual: number, { limit, kind }: Bound): void {
  if (actual <= limit) return
  throw new StoreError(
    'content_too_large',
    `${capitalised(what)} is larger than ${kind} can be: at most ${limit} bytes`,
    { details: { actual, limit } },
  )
}

/** The first line of a file that holds a passphrase or a recovery key. Throws `invalid_input`. */
export function readSecretFile(what: string, path: string): string {
  const secret = readTextFile(`the file with ${what}`, path).replace(/\r?\n$/, '')
  if (secret !== '' && !/[\r\n]/.test(secret)) return secret
  throw new StoreError('invalid_input', `The file with ${what} must hold it in one line`)
}

/** Writes a new file that only its owner can read. Never replaces one: `path_conflict`. */
export function writeNewFile(what: string, path: string, text: string): void {
  attempt(`write ${what}`, path, () => writeFileSync(path, text, { flag: 'wx', mode: 0o600 }))
}

/** `dev_…`, `ssh-ed25519 …`, or the only line of a file that holds one of them. */
export function readKey(given: string): string {
  if (/^(?:dev_|ssh-ed25519 )/.test(given)) return given
  const lines = readTextFile('the key', given)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const [line] = lines
  if (line !== undefined && lines.length === 1) return line.trim()
  throw new StoreError('invalid_input', 'The file of the key must hold one, as in a .pub file')
}
