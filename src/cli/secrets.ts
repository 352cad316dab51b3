// Reads passphrases and recovery keys: from a file that a variable names, else from a prompt. Never
// from an argument, which every process of the machine can read.

import { hasCode } from '../errors.ts'
import { parseRecoveryKey } from '../keys/identity.ts'
import { CommandError } from './command-error.ts'
import type { Context } from './context.ts'
import { readSecretFile } from './files.ts'
import { askNewSecret, askSecret, canAsk } from './prompt.ts'

/** A secret that opens a store for a device that is not enrolled. */
export type Secret = { readonly passphrase: string } | { readonly recoveryKey: string }

/** The passphrase for `init`; undefined without a file and a terminal, or for empty input. */
export async function findFirstPassphrase(context: Context): Promise<string | undefined> {
  const file = context.environment.passphraseFile
  if (file !== undefined) return readSecretFile('the passphrase', file)
  if (!canAsk(context)) return undefined
  const question = 'New passphrase (empty for none)'
  const typed = await askNewSecret(context, question, 'GITLOCKET_PASSPHRASE_FILE')
  return typed === '' ? undefined : typed
}

/** The new passphrase for `key passwd`. */
export async function getNewPassphrase(context: Context): Promise<string> {
  const file = context.environment.newPassphraseFile
  if (file !== undefined) return readSecretFile('the new passphrase', file)
  return askNewSecret(context, 'New passphrase', 'GITLOCKET_NEW_PASSPHRASE_FILE')
}

/** The secret for `recover` and `join`. Its form distinguishes the two kinds. */
export async function getSecret(context: Context): Promise<Secret> {
  const { passphraseFile, recoveryKeyFile } = context.environment
  if (recoveryKeyFile !== undefined) {
    return checked(readSecretFile('the recovery key', recoveryKeyFile))
  }
  if (passphraseFile !== undefined) {
    return { passphrase: readSecretFile('the passphrase', passphraseFile) }
  }
  const variable = 'GITLOCKET_PASSPHRASE_FILE or GITLOCKET_RECOVERY_KEY_FILE'
  const typed = await askSecret(context, 'Passphrase or recovery key', variable)
  return /^\s*GLKR1-/i.test(typed) ? checked(typed.trim()) : { passphrase: typed }
}

/** Rejects a mistyped recovery key before any remote is contacted. */
function checked(recoveryKey: string): Secret {
  try {
    parseRecoveryKey(recoveryKey)
    return { recoveryKey }
  } catch (error) {
    if (!hasCode(error, 'invalid_identity')) throw error
    const hint =
      'Compare it with what `gitlocket init` or `gitlocket key recovery` printed: GLKR1- and ' +
      'eight groups of seven characters'
    throw new CommandError('invalid_identity', error.message, hint, { place: '' })
  }
}
