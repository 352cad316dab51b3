// One conversation with a service of a remote: the list of refs (gitprotocol-pack, versions 0 and
// 1), then at most one request. Over https each is a request of its own; over ssh and local paths,
// both go to one process. Nothing in the list is trusted, and one without an end is refused.

import { ByteWriter } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { branchName } from '../git/refs/branch.ts'
import { MEBIBYTE } from '../limits.ts'
import { harmless } from './failures.ts'
import { ListedRefs } from './listed-refs.ts'
import { type PacketReader, lengthDigits, protocolError, textOf } from './pkt-line.ts'
import type { RemoteRefs, Service } from './remote-access.ts'

/** Enough of a page that describes an error. */
const reasonBytesMax = 16_384

/**
 * The repository of a store has a few refs, but anyone who may push there can add some, and a host
 * lists them all before a push, whatever is asked for. This is room for 100,000 branches and as
 * many tags, and still an end.
 */
export const advertisementBytesMax: number = 32 * MEBIBYTE

export function tooManyRefs(): StoreError {
  return new StoreError(
    'remote_protocol',
    'The remote lists more refs than 32 MiB hold: give the store a repository of its own, or ' +
      'remove branches and tags there',
  )
}

const grantRefPattern =
  /^refs\/(?:gitlocket\/(?:baseline|wraps)\/|tags\/gitlocket-(?:baseline|wraps)-)[0-9a-f]{32}$/

/**
 * Whether a ref keeps a start or wraps of grants (FORMAT §13): below refs/gitlocket/, or a tag at
 * hosts that allow branches and tags alone.
 */
export function isGrantRef(name: string): boolean {
  return grantRefPattern.test(name)
}

/** A body of one chunk. */
export async function* wholeBody(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** The bytes of a body. Throws `remote_protocol`, or what `tooLong` makes, beyond `limit` bytes. */
export async function collectBody(
  chunks: AsyncIterable<Uint8Array>,
  limit: number,
  tooLong = (): StoreError => protocolError('its answer is too long'),
): Promise<Uint8Array> {
  const all = new ByteWriter()
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > limit) throw tooLong()
    all.raw(chunk)
  }
  return all.bytes()
}

/** The beginning of a body that only describes an error. Reads no more than it needs. */
export async function collectReason(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const start = new ByteWriter()
  let left = reasonBytesMax
  for await (const chunk of chunks) {
    start.raw(chunk.subarray(0, left))
    left -= chunk.length
    if (left <= 0) break
  }
  return textOf(start.bytes())
}

/** Skips what http puts before the list. Throws `remote_protocol`. */
export async function skipHeader(packets: PacketReader, service: Service): Promise<void> {
  const header = await packets.read()
  const text = header === undefined || header === 'flush' ? '' : textOf(header)
  if (isVersion2(text)) throw otherVersion()
  const isHeader = text.trimEnd() === `# service=${service}`
  if (!isHeader || (await packets.read()) !== 'flush') throw noList()
}

/**
 * Reads up to the flush that ends the list, and keeps the branch and what `ListedRefs` keeps.
 * Undefined if it has no end. Throws the remote's error, `remote_protocol` or `cancelled`.
 */
export async function readRefs(
  packets: PacketReader,
  secrets: readonly string[],
  wanted: readonly string[] = [],
): Promise<RemoteRefs | undefined> {
  let capabilities: ReadonlySet<string> | undefined
  let head: string | undefined
  let others = 0
  const list = new ListedRefs(wanted)
  for (let bytes = 0; ;) {
    const packet = await packets.read()
    if (packet === undefined) return undefined
    if (packet === 'flush') {
      const [named, ignored] = [list.named(), list.ignored()]
      return { head, others, named, ignored, capabilities: capabilities ?? new Set() }
    }
    bytes += lengthDigits + packet.length
    if (bytes > advertisementBytesMax) throw tooManyRefs()
    const line = textOf(packet)
    if (line.startsWith('ERR ')) throw protocolError(`it says ${harmless(line.slice(4), secrets)}`)
    // The other versions begin with their number; that of the first one may too.
    if (line.trimEnd() === 'version 1') continue
    if (isVersion2(line)) throw otherVersion()
    const [ref, listed] = splitAt(line.replace(/\n$/, ''), '\0')
    capabilities ??= readCapabilities(listed)
    const [oid, name = ''] = splitAt(ref, ' ')
    if (oid === 'shallow') throw shallow()
    if (!/^[0-9a-f]{40}$/.test(oid)) throw protocolError('its list of refs is damaged')
    if (name === branchName) {
      head = oid
      continue
    }
    if (!name.startsWith('refs/') || name.endsWith('^{}')) continue
    others += 1
    if (isGrantRef(name)) list.addGrantRef(name, oid)
    else list.addOther()
  }
}

function shallow(): StoreError {
  return new StoreError('remote_shallow', 'The remote is a shallow clone, which lacks old history')
}

export function noList(): ReturnType<typeof protocolError> {
  return protocolError('its answer is not a list of refs')
}

/** Those behind the first ref, or in the place of one. */
function readCapabilities(listed: string | undefined): ReadonlySet<string> {
  if (listed === undefined) throw protocolError('its list of refs is damaged')
  const capabilities = new Set(listed.split(' ').filter((name) => name !== ''))
  if ([...capabilities].some((name) => /^object-format=(?!sha1$)/.test(name))) {
    throw protocolError('its object format is not SHA-1')
  }
  return capabilities
}

function isVersion2(line: string): boolean {
  return line.trimEnd() === 'version 2'
}

function otherVersion(): ReturnType<typeof protocolError> {
  return protocolError('it requires another protocol version')
}

function splitAt(text: string, mark: string): readonly [string, string | undefined] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + mark.length)]
}
