// Pushes: a command with the expected and the new commit of the remote's branch, one for each other
// ref, the pack, and the report (gitprotocol-pack). The expected object is the lease: it is
// compared here and by the remote. Must not treat a missing or incomplete report as success.

import { concatBytes, fromHex } from '../bytes.ts'
import { hasCode, StoreError } from '../errors.ts'
import type { OutgoingPack } from '../git/exchange.ts'
import type { Oid } from '../git/objects/object.ts'
import { branchName } from '../git/refs/branch.ts'
import { grantRefsMax } from '../limits.ts'
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
import type {
  PushConnection,
  PushRequest,
  RefChange,
  RefusedRef,
  RemoteAccess,
  RemoteRefs,
} from './remote-access.ts'
import { isGrantRef, wholeBody } from './wire.ts'

const noOid: Oid = '0'.repeat(40)
/** The last messages of the remote, kept to explain a refusal. */
const messagesMax = 20
const reportLinesMax = 1000

/** The refs of a device, by its name for grants (FORMAT §12). */
export interface GrantRefs {
  readonly start: string
  readonly wraps: string
}

/** As tags for hosts that allow branches and tags alone. */
export function grantRefs(name: string, isTagged: boolean): GrantRefs {
  const at = (kind: string): string =>
    isTagged ? `refs/tags/gitlocket-${kind}-${name}` : `refs/gitlocket/${kind}/${name}`
  return { start: at('baseline'), wraps: at('wraps') }
}

/** What deletes the starts among the refs of a remote, each only if it has not changed. */
export function startsAmong(named: RemoteRefs['named']): readonly RefChange[] {
  return [...named].flatMap(([name, expected]) => {
    return isBaseline(name) ? [{ name, expected, next: undefined }] : []
  })
}

export function isBaseline(name: string): boolean {
  return /^refs\/(?:gitlocket\/baseline\/|tags\/gitlocket-baseline-)/.test(name)
}

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

async function pushOver(
  conversation: Conversation,
  request: PushRequest,
): Promise<readonly RefusedRef[]> {
  const { next, expected, pack, others = [] } = request
  if (next !== undefined) expectHead(conversation, expected)
  const { capabilities } = conversation.refs
  if (!capabilities.has('report-status')) throw protocolError('it cannot report what a push did')
  const { sent, refused } = planOthers(conversation, others)
  const main = next === undefined ? [] : [{ name: branchName, expected, next }]
  const changes = [...main, ...sent]
  if (changes.length === 0) return refused
  const sideBand = capabilities.has('side-band-64k')
  const command = encodeCommands(changes, sideBand)
  // Git expects a pack unless it only deletes.
  const isDeletion = changes.every((change) => change.next === undefined)
  const packed = isDeletion ? undefined : (pack ?? emptyPack)
  const length = command.length + (packed?.bytes ?? 0)
  const messages: string[] = []
  const onText = (text: string): void => {
    messages.push(...text.split(/[\r\n]+/).filter((line) => line.trim() !== ''))
    messages.splice(0, messages.length - messagesMax)
    conversation.forward(text)
  }
  const body = bodyOf(command, packed, request.progress)
  const fail = (text: string): StoreError => rejection(conversation, text, messages)
  const heard = (bytes: number): void => conversation.endurance.heard(bytes)
  const report = await conversation.exchange({ body, length }, (packets) => {
    // A report is short: nothing that a remote sends after a push is progress.
    const listener = { onText, fail, endurance: { moved: heard, heard } }
    const lines = sideBand ? new PacketReader(firstBand(packets, listener)) : packets
    return readReport(lines, heard, reportLinesMax + changes.length)
  })
  const problem = findProblem(report, main.length > 0)
  if (problem !== undefined) throw rejection(conversation, problem, messages)
  return [...refused, ...sent.flatMap((change) => refusalOf(conversation, report, change) ?? [])]
}

/** The changes of other refs to send, and those that the list of the remote's refs rules out. */
function planOthers(
  { refs }: Conversation,
  others: readonly RefChange[],
): { readonly sent: readonly RefChange[]; readonly refused: readonly RefusedRef[] } {
  const names = new Set(others.map(({ name }) => name))
  const isValid = names.size === others.length && [...names].every((name) => isGrantRef(name))
  if (!isValid || others.length > grantRefsMax) {
    throw new StoreError('invalid_input', 'Only starts and wraps of grants are pushed, each once')
  }
  const sent: RefChange[] = []
  const refused: RefusedRef[] = []
  for (const change of others) {
    const { name, expected, next } = change
    if (refs.named.get(name) !== expected) refused.push({ name, reason: movedReason })
    else if (next === undefined && !refs.capabilities.has('delete-refs')) {
      refused.push({ name, reason: 'the remote deletes no refs' })
    } else if (next !== expected) sent.push(change)
  }
  return { sent, refused }
}

const movedReason = 'another push changed it first'

function encodeCommands(changes: readonly RefChange[], sideBand: boolean): Uint8Array {
  const capabilities = sideBand ? ' report-status side-band-64k' : ' report-status'
  const commands = changes.map(({ name, expected = noOid, next = noOid }, index) => {
    return encodePacket(`${expected} ${next} ${name}${index === 0 ? `\0${capabilities}` : ''}`)
  })
  return concatBytes(...commands, flushPacket)
}

const emptyPackBytes = fromHex('5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e')
const emptyPack = { bytes: emptyPackBytes.length, chunks: () => wholeBody(emptyPackBytes) }

async function* bodyOf(
  command: Uint8Array,
  pack: Pick<OutgoingPack, 'bytes' | 'chunks'> | undefined,
  progress: PushRequest['progress'],
): AsyncGenerator<Uint8Array> {
  yield command
  if (pack === undefined) return
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
  linesMax: number,
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
    if (lines.length > linesMax) throw protocolError('its report does not end')
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

/** Why the push failed; undefined if a complete report confirms the move of the branch, if any. */
function findProblem(report: readonly string[], movesBranch: boolean): string | undefined {
  const [first = ''] = report
  if (!first.startsWith('unpack ')) throw protocolError('its report is incomplete')
  const statuses = statusesOf(report, branchName)
  const [status = ''] = statuses
  if (statuses.length > 1) throw protocolError('its report contradicts itself')
  const refused = reasonIn(status)
  if (first !== 'unpack ok') return first.slice('unpack '.length)
  if (!movesBranch) return undefined
  if (refused !== undefined) return refused
  if (status !== `ok ${branchName}`) throw protocolError('its report does not mention the branch')
  return undefined
}

/** The branch has moved by then: a report that is wrong about another ref refuses that ref. */
function refusalOf(
  conversation: Conversation,
  report: readonly string[],
  { name }: RefChange,
): RefusedRef | undefined {
  const [status = '', ...more] = statusesOf(report, name)
  if (more.length > 0) return { name, reason: 'the report of the remote contradicts itself' }
  if (status === `ok ${name}`) return undefined
  const reason = reasonIn(status)
  if (reason === undefined) return { name, reason: 'the report of the remote does not mention it' }
  return { name, reason: conversation.harmless(reason) }
}

function statusesOf([, ...statuses]: readonly string[], name: string): readonly string[] {
  return statuses.filter((line) => line.split(' ')[1] === name)
}

function reasonIn(status: string): string | undefined {
  return /^ng \S+ (.*)$/s.exec(status)?.[1]
}
