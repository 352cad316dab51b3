// Pushes: one command with the expected and the new commit of the remote's branch, the pack, and
// the report (gitprotocol-pack). The expected commit is the lease: it is compared here and by the
// remote. Must not treat a missing or incomplete report as success.

import { concatBytes } from '../bytes.ts'
import { hasCode, StoreError } from '../errors.ts'
import type { Oid } from '../git/objects/object.ts'
import { branchName } from '../git/refs/branch.ts'
import { Conversation } from './conversation.ts'
import { rejection } from './failures.ts'
import {
  cutOff,
  encodePacket,
  firstBand,
  flushPacket,
  PacketReader,
  protocolError,
  textOf,
} from './pkt-line.ts'
import type { PushConnection, PushRequest, RemoteAccess } from './remote-access.ts'

const noOid: Oid = '0'.repeat(40)
/** The last messages of the remote, kept to explain a refusal. */
const messagesMax = 20
const reportLinesMax = 1000

/** Throws a remote code, `invalid_input` or `cancelled`. */
export async function connectPush(access: RemoteAccess): Promise<PushConnection> {
  const conversation = await Conversation.open(access, 'git-receive-pack')
  return {
    refs: conversation.refs,
    expect: (head) => expectHead(conversation, head),
    push: (request) => pushOver(conversation, request),
    close: () => conversation.close(),
  }
}

function expectHead({ refs }: Conversation, expected: Oid | undefined): void {
  if (refs.head === expected) return
  throw new StoreError('remote_moved', 'The branch of the remote is not where it was expected')
}

async function pushOver(conversation: Conversation, request: PushRequest): Promise<void> {
  expectHead(conversation, request.expected)
  const { capabilities } = conversation.refs
  if (!capabilities.has('report-status')) throw protocolError('it cannot report what a push did')
  const sideBand = capabilities.has('side-band-64k')
  const command = encodeCommand(request, sideBand)
  const length = command.length + request.pack.bytes
  const messages: string[] = []
  const onText = (text: string): void => {
    messages.push(...text.split(/[\r\n]+/).filter((line) => line.trim() !== ''))
    messages.splice(0, messages.length - messagesMax)
    conversation.forward(text)
  }
  const body = bodyOf(command, request)
  const fail = (text: string): StoreError => rejection(conversation, text, messages)
  const heard = (bytes: number): void => conversation.endurance.heard(bytes)
  const report = await conversation.exchange({ body, length }, (packets) => {
    // A report is short: nothing that a remote sends after a push is progress.
    const listener = { onText, fail, endurance: { moved: heard, heard } }
    const lines = sideBand ? new PacketReader(firstBand(packets, listener)) : packets
    return readReport(lines, heard)
  })
  const problem = findProblem(report)
  if (problem !== undefined) throw rejection(conversation, problem, messages)
}

function encodeCommand({ expected, next }: PushRequest, sideBand: boolean): Uint8Array {
  const capabilities = sideBand ? ' report-status side-band-64k' : ' report-status'
  const command = encodePacket(`${expected ?? noOid} ${next} ${branchName}\0${capabilities}`)
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

async function readReport(
  packets: PacketReader,
  heard: (bytes: number) => void,
): Promise<readonly string[]> {
  const lines: string[] = []
  for (;;) {
    const packet = await packets.read()
    if (packet === undefined) throw cutOff()
    if (packet === 'flush') {
      await readRest(packets, heard)
      return lines
    }
    heard(packet.length)
    lines.push(textOf(packet).trimEnd())
    if (lines.length > reportLinesMax) throw protocolError('its report does not end')
  }
}

/** Reads the output of hooks after the branch has moved. The report is complete in any case. */
async function readRest(packets: PacketReader, heard: (bytes: number) => void): Promise<void> {
  try {
    for (;;) {
      const packet = await packets.read()
      if (packet === undefined) return
      heard(packet.length)
    }
  } catch (error) {
    if (!hasCode(error, 'remote_unreachable', 'remote_timeout', 'remote_protocol')) throw error
  }
}

/** Why the branch did not move; undefined if a complete report confirms that it did. */
function findProblem(report: readonly string[]): string | undefined {
  const [first = '', ...statuses] = report
  if (!first.startsWith('unpack ')) throw protocolError('its report is incomplete')
  const matching = statuses.filter((line) => line.split(' ')[1] === branchName)
  const [status = ''] = matching
  if (matching.length > 1) throw protocolError('its report contradicts itself')
  const refused = /^ng \S+ (.*)$/s.exec(status)?.[1]
  if (first !== 'unpack ok') return first.slice('unpack '.length)
  if (refused !== undefined) return refused
  if (status !== `ok ${branchName}`) throw protocolError('its report does not mention the branch')
  return undefined
}
