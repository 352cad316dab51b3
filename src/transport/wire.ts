// One conversation with a service of a remote: the list of refs (gitprotocol-pack, versions 0 and
// 1), then at most one request. Over https each is a request of its own; over ssh and local paths,
// both go to one process. Nothing in the list is trusted, and one without an end is refused.

import { ByteWriter } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { Oid } from '../git/objects/object.ts'
import { branchName } from '../git/refs/branch.ts'
import { listedRefsMax, MEBIBYTE } from '../limits.ts'
import { harmless } from './failures.ts'
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

/** The refs of grants end with a name of 32 hex digits; a kind is the part before it. */
const NAME_LENGTH = 32

/**
 * The refs of a remote's list that are kept. Anyone who may push there can add refs without end,
 * and must not stop a sync by that: of each kind the first names are kept, in order, with those
 * that the caller asked for by name, wherever they stand. The others are counted and ignored.
 */
class ListedRefs {
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
