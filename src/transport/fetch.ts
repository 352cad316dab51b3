// Fetches objects: wants and haves in one request (gitprotocol-pack, versions 0 and 1), then the
// pack from the side band, straight to the disk. Never requests thin packs: every base must be in
// the pack.

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

/** A longer line is not part of the negotiation. */
const LINE_MAX = 1024

async function fetchOver(conversation: Conversation, request: FetchRequest): Promise<ReceivedPack> {
  const { want, haves, into, limits, progress } = request
  const body = encodeRequest(conversation, want, haves)
  return conversation.exchange({ body: wholeBody(body), length: body.length }, async (packets) => {
    await skipAcknowledgements(conversation, packets)
    const fail = (text: string): StoreError => reported(conversation, text)
    const { endurance } = conversation
    const onText = (text: string): void => conversation.forward(text)
    const pack = firstBand(packets, { onText, fail, endurance })
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
  const capabilities = ['side-band-64k', 'ofs-delta'].filter((name) => refs.capabilities.has(name))
  return concatBytes(
    encodePacket(`want ${want} ${capabilities.join(' ')}\n`),
    flushPacket,
    ...[...new Set(haves)].map((oid) => encodePacket(`have ${oid}\n`)),
    encodePacket('done\n'),
  )
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
      throw protocolError('its answer does not match the request')
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
