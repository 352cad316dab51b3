// `certificate verify`: whether a certificate of a redaction can be believed: because the history
// of a store here proves it, for a member or an auditor, or because the reader knows the key.
// Without either it reports that, and does not exit with 0.

import { verifyCertificate } from '../../store/audit/verify-certificate.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { BuiltOnRedacted } from '../../store/redaction/built-on.ts'
import type { RedactionCertificate } from '../../store/redaction/certificate.ts'
import {
  ofAnotherStore,
  type Answer,
  type Command,
  type Context,
  type Input,
} from '../call/command.ts'
import { readCertificateFile, readKey } from '../machine/files.ts'
import { auditing, isStoreHere, withStoreOrTrail } from '../store/open-store.ts'
import { builtOnRedactedJson, builtOnRedactedLines } from '../text/redactions.ts'
import { countText, listOf } from '../text/words.ts'

export const commands: readonly Command[] = [
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

type Proof = 'store' | 'key' | undefined

async function certificateVerify(context: Context, input: Input): Promise<Answer> {
  const text = readCertificateFile(input.argument(0))
  const key = input.text('key')
  if (key !== undefined) {
    return answerOf(await verifyCertificate(text, { key: readKey(key) }), 'key')
  }
  if (!isStoreHere(context)) return answerOf(await verifyCertificate(text, 'unknown'), undefined)
  return verifyHere(context, text)
}

async function verifyHere(context: Context, text: string): Promise<Answer> {
  try {
    return await withStoreOrTrail(
      context,
      (store) => verifyIn(context, store, text),
      async () => {
        const found = await auditing(context, (options) => verifyCertificate(text, options))
        return answerOf(found, 'store')
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
  return answerOf(certificate, 'store', left)
}

function answerOf(
  certificate: RedactionCertificate,
  proof: Proof,
  left: readonly BuiltOnRedacted[] = [],
): Answer {
  const lines = [
    ...statementLines(certificate),
    '',
    ...proofLines(certificate, proof),
    ...builtOnRedactedLines(left),
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
  const lines = versions.map(({ memory_version_id, memory_id, operation }) => {
    return `${memory_version_id}  ${operation}  of ${memory_id}`
  })
  return [
    `Store        ${certificate.store_id}`,
    `Device       ${certificate.device_id}`,
    `Actor        ${actor.type}:${actor.id}${session === null ? '' : `, session ${session}`}`,
    `Time         ${certificate.redacted_at}`,
    `Reason       ${certificate.reason}`,
    `Old head     ${certificate.old_head}`,
    `New head     ${certificate.new_head}`,
    `For hosts    ${countText(object_ids.length, 'object id', 'object ids')}; --json prints them`,
    `Redacted     ${count}`,
    listOf(lines),
    ...(may_repeat.length === 0 ? [] : ['May repeat them, and were kept', listOf(may_repeat)]),
  ]
}

function proofLines({ device_id }: RedactionCertificate, proof: Proof): readonly string[] {
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
    `names has signed it, which is that of ${device_id}.`,
    'Compare it with a clone of the store (--store), or with the key of a device (--key).',
  ]
}
