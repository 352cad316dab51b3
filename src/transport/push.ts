// Pushing: one command that names where the remote's branch is now and where it is to go, the pack,
// and the report on each (gitprotocol-pack). The old name is the lease: we compare it, and so does
// the remote. Must not take silence, or half a report, for success.

import { concatBytes } from '../bytes.ts'
import { hasCode, StoreError } from '../errors.ts'
import type { Oid } from '../git/objects/object.ts'
import { branchName } from '../git/refs/branch.ts'
import { Conversation } from './conversation.ts'
import {
  cutOff,
  encodePacket,
  firstBand,
  flushPacket,
  PacketReader,
  protocolError,
  textOf,
} from './pkt-line.ts'
import { rejection } from './rejection.ts'
import type { PushConnection, PushRequest, RemoteAccess } from './remote-access.ts'

const noOid: Oid = '0'.repeat(40)
/** What the remote said last, kept to explain a refusal. */
const wordsMax = 20
const reportLinesMax = 1000

/** Throws a remote code, `invalid_input` or `cancelled`. */
export async function connectPush(access: RemoteAccess): Promise<PushConnection> {
  const conversation = await Conversation.open(access, 'git-receive-pack')
  return {
    refs: conversation.refs,
    push: (request) => pushOver(conversation, request),
    close: () => conversation.close(),
  }
}

async function pushOver(conversation: Conversation, request: PushRequest): Promise<void> {
  const { head, capabilities } = conversation.refs
  if (head !== request.expected) throw movedMeanwhile()
  if (!capabilities.has('report-status')) throw protocolError('it does not report what it did')
  const sideBand = capabilities.has('side-band-64k')
  const command = encodeCommand(request, sideBand)
  const length = command.length + request.pack.bytes
  const words: string[] = []
  const hear = (text: string): void => {
    words.push(...text.split(/[\r\n]+/).filter((line) => line.trim() !== ''))
    words.splice(0, words.length - wordsMax)
    conversation.tell(text)
  }
  const body = bodyOf(command, request)
  const fail = (text: string): StoreError => rejection(conversation, text, words)
  const report = await conversation.exchange({ body, length }, (packets) => {
    return readReport(sideBand ? new PacketReader(firstBand(packets, hear, fail)) : packets)
  })
  const problem = findProblem(report)
  if (problem !== undefined) throw rejection(conversation, problem, words)
}

function encodeCommand({ expected, next }: PushRequest, sideBand: boolean): Uint8Array {
  const wished = sideBand ? ' report-status side-band-64k' : ' report-status'
  const command = encodePacket(`${expected ?? noOid} ${next} ${branchName}\0${wished}`)
  return concatBytes(command, flushPacket)
}

async function* bodyOf(
  command: Uint8Array,
  { pack, progress }: PushRequest,
): AsyncGenerator<Uint8Array> {
  yield command
  let done = 0
  for await (const chunk of pack.chunks()) {
    yield chunk
    done += chunk.length
    progress?.({ phase: 'sending', done, total: pack.bytes })
  }
}

async function readReport(packets: PacketReader): Promise<readonly string[]> {
  const lines: string[] = []
  for (;;) {
    const packet = await packets.read()
    if (packet === undefined) throw cutOff()
    if (packet === 'flush') {
      await hearOut(packets)
      return lines
    }
    lines.push(textOf(packet).trimEnd())
    if (lines.length > reportLinesMax) throw protocolError('its report does not end')
  }
}

/** What hooks do once the branch has moved. However it ends, the report is complete. */
async function hearOut(packets: PacketReader): Promise<void> {
  try {
    while ((await packets.read()) !== undefined);
  } catch (error) {
    if (!hasCode(error, 'remote_unreachable', 'remote_timeout', 'remote_protocol')) throw error
  }
}

/** Why the branch did not move; undefined if the remote says in full that it did. */
function findProblem(report: readonly string[]): string | undefined {
  const [first = '', ...statuses] = report
  if (!first.startsWith('unpack ')) throw protocolError('its report is incomplete')
  const ours = statuses.filter((line) => line.split(' ')[1] === branchName)
  const [status = ''] = ours
  if (ours.length > 1) throw protocolError('its report contradicts itself')
  const refused = /^ng \S+ (.*)$/s.exec(status)?.[1]
  if (first !== 'unpack ok') return first.slice('unpack '.length)
  if (refused !== undefined) return refused
  if (status !== `ok ${branchName}`) throw protocolError('its report says nothing of the branch')
  return undefined
}

function movedMeanwhile(): StoreError {
  return new StoreError('remote_moved', 'The branch of the remote is not where it was expected')
}
