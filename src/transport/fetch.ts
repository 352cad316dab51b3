// Fetching: which objects are wanted and which are here already, in one request (gitprotocol-pack,
// versions 0 and 1), then the pack out of the side band, straight into the store. Asks for whole
// packs only: no base may be anywhere else.

import { concatBytes } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { ReceivedPack } from '../git/exchange.ts'
import type { Oid } from '../git/objects/object.ts'
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

/** Longer lines are no words of the protocol. */
const LINE_MAX = 1024

async function fetchOver(conversation: Conversation, request: FetchRequest): Promise<ReceivedPack> {
  const { want, haves, into, limits, progress } = request
  const body = encodeRequest(conversation, want, haves)
  return conversation.exchange({ body: wholeBody(body), length: body.length }, async (packets) => {
    await skipAcknowledgements(conversation, packets)
    const fail = (text: string): StoreError => reported(conversation, text)
    const pack = firstBand(packets, (text) => conversation.tell(text), fail)
    return into.receive(counted(pack, progress), {
      limits,
      tip: want,
      signal: conversation.signal,
      progress: (done, total) => progress?.({ phase: 'checking', done, total }),
    })
  })
}

function encodeRequest({ refs }: Conversation, want: Oid, haves: readonly Oid[]): Uint8Array {
  if (!refs.capabilities.has('side-band-64k')) throw protocolError('it has no side bands')
  const wished = ['side-band-64k', 'ofs-delta'].filter((name) => refs.capabilities.has(name))
  return concatBytes(
    encodePacket(`want ${want} ${wished.join(' ')}\n`),
    flushPacket,
    ...[...new Set(haves)].map((oid) => encodePacket(`have ${oid}\n`)),
    encodePacket('done\n'),
  )
}

/** One comes, or, until it has met a commit that it did not know to be common, several. */
async function skipAcknowledgements(
  conversation: Conversation,
  packets: PacketReader,
): Promise<void> {
  for (let known = false; ; known = true) {
    const packet = await packets.peek()
    if (packet === undefined) throw cutOff()
    const line = packet === 'flush' ? '' : textOf(packet.subarray(0, LINE_MAX)).trimEnd()
    if (line.startsWith('ERR ')) throw reported(conversation, line.slice(4))
    if (line !== 'NAK' && !/^ACK [0-9a-f]{40}$/.test(line)) {
      if (known) return
      throw protocolError('it does not answer what was asked')
    }
    await packets.read()
  }
}

function reported(conversation: Conversation, text: string): StoreError {
  const words = conversation.harmless(text)
  if (/not our ref|unadvertised object/i.test(words)) {
    return new StoreError('remote_moved', 'The remote has moved its branch away meanwhile')
  }
  return new StoreError('remote_protocol', `The remote could not send the objects: ${words}`)
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
