// `key show|passwd|recovery`: the public side of this device's key, and the passphrase and recovery
// key that let another machine join. Shows no secret but a recovery key that it has just made.

import { toBase64 } from '../../bytes.ts'
import { hasCode } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { Audit } from '../../store/audit/audit.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { auditHere, getIdentity, withStore } from '../open-store.ts'
import { authorOf } from '../options.ts'
import { rekeyedJson, rekeyedLines } from '../rekeyed.ts'
import { getNewPassphrase } from '../secrets.ts'

export async function keyShow(context: Context, input: Input): Promise<Answer> {
  if (input.flag('allowed-signers')) {
    return withStore(context, async (store) => {
      const lines = await store.maintenance.allowedSigners()
      return { text: lines, json: { allowed_signers: lines.trimEnd().split('\n') } }
    })
  }
  const identity = getIdentity(context.environment)
  const found = await findStatus(context)
  const device = formatId('device', identity.deviceId)
  const signingKey = toBase64(identity.signing.publicKey)
  const encryptionKey = toBase64(identity.kem.publicKey)
  return {
    text: [
      `Fingerprint     ${device}`,
      `Identity        ${context.environment.identityFile}`,
      `Store           ${found?.storeId ?? 'none yet; `gitlocket init` creates one'}`,
      ...(found === undefined ? [] : [`Role            ${found.role ?? 'removed'}`]),
      `Signing key     Ed25519 ${signingKey}`,
      `Encryption key  X-Wing, ${identity.kem.publicKey.length} bytes; --json shows it`,
      '',
    ].join('\n'),
    json: {
      device_id: device,
      memory_store_id: found?.storeId ?? null,
      role: found?.role ?? null,
      signing_key: { type: 'ed25519', public_key: signingKey },
      encryption_key: { type: 'x-wing', public_key: encryptionKey },
    },
  }
}

export async function keyPasswd(context: Context, input: Input): Promise<Answer> {
  const remove = input.flag('remove')
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const passphrase = remove ? null : await getNewPassphrase(context)
    const changed = await store.as(author).keys.changePassphrase(passphrase)
    const { epochs } = await store.status()
    const done = remove ? 'The passphrase was removed' : 'The passphrase was set'
    return {
      text: [done, ...rekeyedLines(changed, 'The old passphrase'), ''].join('\n'),
      json: { passphrase: !remove, epochs, ...rekeyedJson(changed) },
    }
  })
}

export async function keyRecovery(context: Context, input: Input): Promise<Answer> {
  const keepOld = input.flag('keep-old')
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const made = await store.as(author).keys.makeRecoveryKey({ keepOld })
    const { epochs } = await store.status()
    return {
      text: [
        'Recovery key, shown this once. Write it down and keep it away from this machine:',
        '',
        `  ${made.recoveryKey}`,
        ...(keepOld
          ? ['', 'The earlier recovery keys still open the store.']
          : rekeyedLines(made, 'The old recovery key')),
        '',
      ].join('\n'),
      json: { recovery_key: made.recoveryKey, epochs, ...rekeyedJson(made) },
    }
  })
}

/** Undefined if there is no store yet. Throws rather than report an unverified role. */
async function findStatus(context: Context): Promise<Pick<Audit, 'storeId' | 'role'> | undefined> {
  try {
    return await withStore(context, (store) => store.status())
  } catch (error) {
    if (hasCode(error, 'not_a_store')) return undefined
    // An auditor can verify the trail alone, which holds its role.
    if (hasCode(error, 'permission_denied')) return auditHere(context)
    throw error
  }
}
