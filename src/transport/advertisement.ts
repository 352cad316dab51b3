// Checks the first answer of a remote as pkt-lines, before GitRemoteHTTP parses it: that takes a
// truncated list of refs for a complete one, and reports an error of the remote only inside a
// message text.

import { concatBytes } from '../bytes.ts'
import { KIBIBYTE } from '../limits.ts'
import { TimeSlice } from '../time-slice.ts'
import { PacketReader, protocolError, textOf } from './pkt-line.ts'
import { harmless } from './server-text.ts'
import { type Response, wholeBody } from './wire.ts'

/** GitRemoteHTTP parses so much at once: some hundred refs. */
const pieceBytes = 16 * KIBIBYTE

/**
 * Returns an equal answer. Throws the remote's error, `remote_protocol`, `remote_unreachable` or
 * `cancelled`.
 */
export async function checkedAdvertisement(
  answer: Response,
  secrets: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Response> {
  const type = answer.headers?.['content-type'] ?? ''
  if (!/^application\/x-git-[a-z-]+-advertisement$/.test(type)) return answer
  const chunks: Uint8Array[] = []
  for await (const chunk of answer.body ?? []) chunks.push(chunk)
  const body = concatBytes(...chunks)
  const packets = new PacketReader(wholeBody(body), signal)
  let last: Uint8Array | 'flush' | undefined
  for (let packet = await packets.read(); packet !== undefined; packet = await packets.read()) {
    const text = packet === 'flush' ? '' : textOf(packet)
    if (text.startsWith('ERR ')) throw protocolError(`it says ${harmless(text.slice(4), secrets)}`)
    last = packet
  }
  if (last !== 'flush') throw protocolError('its list of refs has no end')
  return { ...answer, body: inPieces(body, signal) }
}

/** Other work runs between the pieces. */
async function* inPieces(
  body: Uint8Array,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const slice = new TimeSlice(signal)
  for (let at = 0; at < body.length; at += pieceBytes) {
    if (slice.isOver()) await slice.next()
    yield body.subarray(at, at + pieceBytes)
  }
}
