// `certificate verify`: whether a certificate of a redaction can be believed: because the history
// of a store here proves it, for a member or an auditor, or because the reader knows the key.
// Without either it reports that, and does not exit with 0. `certificate list` and `show`: the past
// redactions, and their certificates issued again.

import { pageJson, type Wire } from '../../operations/wire.ts'
import { verifyCertificate } from '../../store/audit/verify-certificate.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { BuiltOnRedacted } from '../../store/redaction/built-on.ts'
import {
  certificateText,
  type RedactionCertificate,
  signerOf,
} from '../../store/redaction/certificate.ts'
import type { IssuedCertificate, PastRedaction } from '../../store/redaction/past-redactions.ts'
import { visible } from '../../text/visible.ts'
import {
  CommandError,
  ofAnotherStore,
  type Answer,
  type Command,
  type Context,
  type Input,
} from '../call/command.ts'
import { colourOption } from '../call/options.ts'
import { readCertificateFile, readKey, writeNewFile } from '../machine/files.ts'
import { auditing, isStoreHere, withStore, withStoreOrTrail } from '../store/open-store.ts'
import { inkOf } from '../terminal/ink.ts'
import { type DeviceNames, deviceText } from '../text/device-text.ts'
import { builtOnRedactedJson, builtOnRedactedLines } from '../text/redactions.ts'
import { type Column, tableText } from '../text/table.ts'
import { ageFormat } from '../text/times.ts'
import { wire } from '../text/wire.ts'
import { countText, listOf } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'certificate list',
    summary: 'List the redactions of the store, newest first',
    options: { '-n, --limit <number>': 'At most this many', ...colourOption },
    run: certificateList,
  },
  {
    name: 'certificate show',
    summary: 'Issue the certificate of a past redaction again',
    usage: '<redaction>',
    options: { '--out <file>': 'Write the certificate to a new file' },
    notes: [
      '`certificate list` names the redactions; the id of an erased version works too. The ' +
        'certificate is signed anew by this device, from the record in the history.',
      'Only the device that redacted knows which objects hosts should delete: it keeps their ids ' +
        'in a sealed file of the state directory. Certificates of other devices come without, ' +
        'and state who issued them.',
    ],
    run: certificateShow,
  },
  {
    name: 'certificate verify',
    summary: 'Verify the certificate of a redaction, with or without a key of the store',
    usage: '<file>',
    options: {
      '--key <key>':
        'Compare with this key only: dev_…, "ssh-ed25519 …", or a file with one of them',
    },
    notes: [
      'Compares it with the history of the store here, as a member or an auditor: the redaction ' +
        'must be in it, and the signer must have been an owner then. With --key no store is ' +
        'needed, and it shows only that this device signed it.',
      'Without a store, an identity and --key it shows what the certificate states, and that the ' +
        'key which it names signed it. That proves nothing, as anybody can make one: the exit ' +
        'code is 4 then.',
    ],
    run: certificateVerify,
  },
]

/** `part was skipped`: whether the signer is a device of the store was not asked. */
const SIGNER_UNKNOWN = 4

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 10_000
/** Digits of a redaction in the list, and the least that name one. */
const SHORT_DIGITS = 12
const LEAST_DIGITS = 4

function certificateList(context: Context, input: Input): Promise<Answer> {
  const limit = input.integer('limit', 1, LIMIT_MAX) ?? LIMIT_DEFAULT
  return withStore(context, async (store) => {
    const all = await store.maintenance.redactions()
    const names = await store.devices.names()
    const found = all.slice(0, limit)
    const columns = columnsOf(context, names)
    return {
      text: tableText(context, inkOf(context, input), found, columns),
      inked: true,
      json: pageJson(found.map(redactionJson)),
      note: all.length === 0 ? 'Nothing was redacted in this store' : undefined,
    }
  })
}

function columnsOf(context: Context, names: DeviceNames): readonly Column<PastRedaction>[] {
  const age = ageFormat(context)
  return [
    { head: 'REDACTED', cell: ({ time }) => age(time) },
    { head: 'VERSIONS', cell: ({ versions }) => String(versions.length), align: 'right' },
    { head: 'REASON', cell: ({ reason }) => reason.replaceAll('_', ' ') },
    { head: 'DEVICE', cell: ({ deviceId }) => names.get(deviceId) || deviceId, cut: 'end' },
    { head: 'OBJECT IDS', cell: ({ hasObjectIds }) => (hasObjectIds ? 'here' : 'not here') },
    {
      head: 'ID',
      cell: ({ redaction }) => redaction.slice(0, SHORT_DIGITS),
      exact: ({ redaction }) => redaction,
      paint: 'dim',
    },
  ]
}

function redactionJson(one: PastRedaction): Wire {
  const { redaction, records, commits, time, deviceId, actor, session, reason, versions } = one
  const what = { redaction, records, commits, redactedAt: time, deviceId, actor, session, reason }
  return wire({ type: 'redaction', ...what, versions, hasObjectIds: one.hasObjectIds })
}

function certificateShow(context: Context, input: Input): Promise<Answer> {
  return withStore(context, async (store) => {
    const redaction = await findRedaction(store, input.argument(0))
    const { certificate, objectIds } = await store.maintenance.issueCertificate(redaction)
    const file = input.text('out')
    if (file !== undefined) writeNewFile('the certificate', file, certificateText(certificate))
    const lines = [
      ...statementLines(certificate),
      ...(await missingLines(store, certificate, objectIds)),
      '',
      file === undefined
        ? 'Signed by this device. --out writes the certificate to a file; --json prints it.'
        : `Certificate  ${visible(file)}, signed by this device`,
    ]
    return {
      text: `${lines.join('\n')}\n`,
      json: { certificate, object_ids: objectIds, file: file ?? null },
    }
  })
}

/** A redaction by the first digits of its id or of its commit, or by a version that it erased. */
async function findRedaction(store: MemoryStore, typed: string): Promise<string> {
  const all = await store.maintenance.redactions()
  const digits = typed.toLowerCase()
  const found = all.filter(({ redaction, commits, versions }) => {
    if (versions.some((one) => one.memory_version_id === typed)) return true
    const isPrefix = /^[0-9a-f]+$/.test(digits) && digits.length >= LEAST_DIGITS
    return isPrefix && [redaction, ...commits].some((id) => id.startsWith(digits))
  })
  const [first] = found
  const hint = '`gitlocket certificate list` names the redactions'
  if (first === undefined) {
    throw new CommandError('not_found', `There is no redaction "${typed}"`, hint)
  }
  if (found.length === 1) return first.redaction
  throw new CommandError('invalid_input', `${found.length} redactions begin with "${typed}"`, hint)
}

async function missingLines(
  store: MemoryStore,
  { device_id }: RedactionCertificate,
  objectIds: IssuedCertificate['objectIds'],
): Promise<readonly string[]> {
  if (objectIds === 'known') return []
  const device = deviceText(device_id, (await store.devices.names()).get(device_id))
  const damaged = 'The sealed file with the object ids is damaged, and was not used.'
  return [
    '',
    'Missing: the old head, the object ids for hosts, and versions that may repeat the text.',
    objectIds === 'damaged' ? damaged : `Only ${visible(device)}, which redacted, may have them.`,
  ]
}

type Proof = 'store' | 'key' | undefined

async function certificateVerify(context: Context, input: Input): Promise<Answer> {
  const text = readCertificateFile(input.argument(0))
  const key = input.text('key')
  if (key !== undefined) {
    return answerOf(context, await verifyCertificate(text, { key: readKey(key) }), 'key')
  }
  if (!isStoreHere(context))
    return answerOf(context, await verifyCertificate(text, 'unknown'), undefined)
  return verifyHere(context, text)
}

async function verifyHere(context: Context, text: string): Promise<Answer> {
  try {
    return await withStoreOrTrail(
      context,
      (store) => verifyIn(context, store, text),
      async () => {
        const found = await auditing(context, (options) => verifyCertificate(text, options))
        return answerOf(context, found, 'store')
      },
    )
  } catch (error) {
    throw ofAnotherStore(error, 'key')
  }
}

/** Also names versions that were written elsewhere on those of the certificate, and exist now. */
async function verifyIn(context: Context, store: MemoryStore, text: string): Promise<Answer> {
  const { signal } = context.interrupts
  const certificate = await store.maintenance.verifyCertificate(text)
  const redacted = new Set(certificate.versions.map((one) => one.memory_version_id))
  const found = await store.maintenance.builtOnRedacted({ signal })
  const left = found.filter((one) => one.redactedVersionIds.some((id) => redacted.has(id)))
  return answerOf(context, certificate, 'store', left)
}

function answerOf(
  context: Context,
  certificate: RedactionCertificate,
  proof: Proof,
  left: readonly BuiltOnRedacted[] = [],
): Answer {
  const lines = [
    ...statementLines(certificate),
    '',
    ...proofLines(certificate, proof),
    ...builtOnRedactedLines(context, left),
  ]
  return {
    text: `${lines.join('\n')}\n`,
    json: {
      verified_by: proof ?? null,
      certificate,
      built_on_redacted: left.map(builtOnRedactedJson),
    },
    exitCode: proof === undefined ? SIGNER_UNKNOWN : 0,
  }
}

function statementLines(certificate: RedactionCertificate): readonly string[] {
  const { actor, session_id: session, versions, may_repeat, object_ids } = certificate
  const count = countText(versions.length, 'version', 'versions')
  const ids = countText(object_ids.length, 'object id', 'object ids')
  const lines = versions.map(({ memory_version_id, memory_id, operation }) => {
    return `${memory_version_id}  ${operation}  of ${memory_id}`
  })
  return [
    `Store        ${certificate.store_id}`,
    `Device       ${certificate.device_id}`,
    ...(certificate.issued_by === undefined ? [] : [`Issued by    ${certificate.issued_by}`]),
    `Actor        ${actor.type}:${actor.id}${session === null ? '' : `, session ${session}`}`,
    `Time         ${certificate.redacted_at}`,
    `Reason       ${certificate.reason}`,
    `Old head     ${certificate.old_head ?? 'unknown'}`,
    `New head     ${certificate.new_head}`,
    ...(object_ids.length === 0 ? [] : [`For hosts    ${ids}; --json prints them`]),
    `Redacted     ${count}`,
    listOf(lines),
    ...(may_repeat.length === 0 ? [] : ['May repeat them, and were kept', listOf(may_repeat)]),
  ]
}

function proofLines(certificate: RedactionCertificate, proof: Proof): readonly string[] {
  const signer = signerOf(certificate)
  if (proof === 'store' && certificate.issued_by !== undefined) {
    return [
      'Verified: the history of this store has the redaction, and a device of it signed this.',
    ]
  }
  if (proof === 'store') {
    return [
      'Verified: the history of this store has the redaction, and the signer was an owner then.',
      'Only the old head and the object ids are the word of the signer alone.',
    ]
  }
  if (proof === 'key') {
    return [
      'Verified: the device of the given key has signed this.',
      'Whether the store has the redaction, a clone of it shows.',
    ]
  }
  return [
    'NOT VERIFIED: anybody can make such a certificate. It shows only that the key which it',
    `names has signed it, which is that of ${signer}.`,
    'Compare it with a clone of the store (--store), or with the key of a device (--key).',
  ]
}
