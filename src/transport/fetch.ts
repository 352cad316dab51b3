// Fetches objects: wants, haves and a depth in one request (gitprotocol-pack, versions 0 and 1),
// then the end of the history that is sent, and the pack from the side band, straight to the disk.
// Never requests thin packs: every base must be in the pack.

import { concatBytes } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { BoundaryChange, ReceivedPack } from '../git/exchange.ts'
import type { Oid } from '../git/objects/object.ts'
import { boundaryCommitsMax } from '../limits.ts'
import { Conversation } from './conversation.ts'
import {
  cutOff,
  encodePacket,
  firstBand,
  flushPacket,
  type PacketReader,
  protocolError,
  textOf,
} from './pkt-line.ts'
import type { FetchConnection, FetchRequest, RemoteAccess } from './remote-access.ts'
import { wholeBody } from './wire.ts'

/** Throws a remote code, `invalid_input` or `cancelled`. */
export async function connectFetch(access: RemoteAccess): Promise<FetchConnection> {
  const conversation = await Conversation.open(access, 'git-upload-pack')
  return {
    refs: conversation.refs,
    fetch: (request) => fetchOver(conversation, request),
    close: () => conversation.close(),
  }
}

/** A longer line is not part of the negotiation. */
const LINE_MAX = 1024
/** What git takes for all of the history. */
const DEPTH_MAX = 2 ** 31 - 1
const unmoved: BoundaryChange = { shallow: [], unshallow: [] }

async function fetchOver(
  conversation: Conversation,
  request: FetchRequest,
): Promise<ReceivedPack & BoundaryChange> {
  const { want: tip, wants: also, haves, into, limits, progress, deepen } = request
  const { shallow: before = [] } = request
  const body = encodeRequest(conversation, request)
  return conversation.exchange({ body: wholeBody(body), length: body.length }, async (packets) => {
    const moved = deepen === undefined ? unmoved : await readBoundary(conversation, packets, before)
    await skipAcknowledgements(conversation, packets)
    const fail = (text: string): StoreError => reported(conversation, text)
    const { endurance } = conversation
    const onText = (text: string): void => conversation.forward(text)
    const pack = firstBand(packets, { onText, fail, endurance })
    const received = await into.receive(counted(pack, progress), {
      limits,
      tip,
      also,
      boundary: isWhole(request) ? undefined : { before, haves, ...moved },
      signal: conversation.signal,
      progress: (done, total) => progress?.({ phase: 'checking', done, total }),
    })
    return { ...received, ...moved }
  })
}

/** Whether the request is about all of the history, which every remote can send. */
function isWhole({ deepen, shallow = [] }: FetchRequest): boolean {
  return deepen === undefined && shallow.length === 0
}

function encodeRequest({ refs }: Conversation, request: FetchRequest): Uint8Array {
  const { want, wants = [], haves, deepen, shallow = [] } = request
  if (!refs.capabilities.has('side-band-64k')) throw protocolError('it has no side bands')
  if (!isWhole(request) && !refs.capabilities.has('shallow')) throw noDepth()
  checkDepth(request)
  const capabilities = ['side-band-64k', 'ofs-delta'].filter((name) => refs.capabilities.has(name))
  const others = [...new Set(wants)].filter((oid) => oid !== want)
  return concatBytes(
    encodePacket(`want ${want} ${capabilities.join(' ')}\n`),
    ...lines('want', others),
    ...lines('shallow', [...new Set(shallow)]),
    ...(deepen === undefined ? [] : [encodePacket(`deepen ${deepen}\n`)]),
    flushPacket,
    ...lines('have', [...new Set(haves)]),
    encodePacket('done\n'),
  )
}

function lines(word: string, oids: readonly Oid[]): readonly Uint8Array[] {
  return oids.map((oid) => encodePacket(`${word} ${oid}\n`))
}

function noDepth(): StoreError {
  return new StoreError(
    'remote_protocol',
    'The remote cannot send a part of the history: its git server lacks the capability `shallow`',
  )
}

/** Heights of commits, which the depth comes from, are claims until they are verified. */
function checkDepth({ deepen = 1, shallow = [] }: FetchRequest): void {
  const isDepth = Number.isInteger(deepen) && deepen >= 1 && deepen <= DEPTH_MAX
  if (isDepth && shallow.length <= boundaryCommitsMax) return
  throw new StoreError('invalid_input', 'The part of the history to fetch is not a valid one')
}

/**
 * Reads how far the history will be sent (gitprotocol-pack, "shallow-update"): a bounded list of
 * commits that was asked for and does not contradict itself.
 */
async function readBoundary(
  conversation: Conversation,
  packets: PacketReader,
  before: readonly Oid[],
): Promise<BoundaryChange> {
  const asked = new Set(before)
  const moved = { shallow: new Set<Oid>(), unshallow: new Set<Oid>() }
  for (let count = 0; ; count += 1) {
    const packet = await packets.read()
    if (packet === undefined) throw cutOff()
    conversation.endurance.heard(packet.length)
    if (packet === 'flush') break
    const line = textOf(packet.subarray(0, LINE_MAX))
    if (line.startsWith('ERR ')) throw reported(conversation, line.slice(4))
    const [, isLeft = '', oid] = /^(un)?shallow ([0-9a-f]{40})\n?$/.exec(line) ?? []
    if (oid === undefined) throw mismatch()
    if (count === 2 * boundaryCommitsMax) throw noEnd()
    const left = isLeft !== ''
    if (left && !asked.has(oid)) throw protocolError('it sent parents that were not asked for')
    if (moved[left ? 'shallow' : 'unshallow'].has(oid)) throw protocolError(contradiction)
    moved[left ? 'unshallow' : 'shallow'].add(oid)
    if (moved.shallow.size > boundaryCommitsMax) throw noEnd()
  }
  const joined = [...moved.shallow].filter((oid) => !asked.has(oid))
  return { shallow: joined, unshallow: [...moved.unshallow] }
}

const contradiction = 'its list of boundary commits contradicts itself'

function noEnd(): StoreError {
  return protocolError(`the history that it sends ends at more than ${boundaryCommitsMax} commits`)
}

function mismatch(): StoreError {
  return protocolError('its answer does not match the request')
}

/** Usually one comes; several come until the remote finds a common commit that it did not know. */
async function skipAcknowledgements(
  conversation: Conversation,
  packets: PacketReader,
): Promise<void> {
  for (let known = false; ; known = true) {
    const packet = await packets.peek()
    if (packet === undefined) throw cutOff()
    conversation.endurance.heard(packet.length)
    const line = packet === 'flush' ? '' : textOf(packet.subarray(0, LINE_MAX)).trimEnd()
    if (line.startsWith('ERR ')) throw reported(conversation, line.slice(4))
    if (line !== 'NAK' && !/^ACK [0-9a-f]{40}$/.test(line)) {
      if (known) return
      throw mismatch()
    }
    await packets.read()
  }
}

function reported(conversation: Conversation, text: string): StoreError {
  const message = conversation.harmless(text)
  if (/not our ref|unadvertised object/i.test(message)) {
    return new StoreError('remote_moved', 'The remote moved its branch in the meantime')
  }
  return new StoreError('remote_protocol', `The remote could not send the objects: ${message}`)
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  progress: FetchRequest['progress'],
): AsyncGenerator<Uint8Array> {
  let done = 0
  for await (const chunk of chunks) {
    done += chunk.length
    progress?.({ phase: 'receiving', done, total: undefined })
    yield chunk
  }
}
