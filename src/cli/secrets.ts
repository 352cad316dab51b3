// Where passphrases and recovery keys come from: a file that a variable names, else a prompt. Never
// an argument, which every process of the machine can read.

import { hasCode } from '../errors.ts'
import { parseRecoveryKey } from '../keys/identity.ts'
import { CommandError } from './command-error.ts'
import type { Context } from './context.ts'
import { readSecretFile } from './files.ts'
import { askNewSecret, askSecret, canAsk } from './prompt.ts'

/** What opens a store for a device that it does not know. */
export type Secret = { readonly passphrase: string } | { readonly recoveryKey: string }

/** For `init`: undefined if there is neither a file nor a terminal, or nothing was typed. */
export async function findFirstPassphrase(context: Context): Promise<string | undefined> {
  const file = context.environment.passphraseFile
  if (file !== undefined) return readSecretFile('the passphrase', file)
  if (!canAsk(context)) return undefined
  const question = 'New passphrase (empty for none)'
  const typed = await askNewSecret(context, question, 'GITLOCKET_PASSPHRASE_FILE')
  return typed === '' ? undefined : typed
}

/** For `key passwd`. */
export async function getNewPassphrase(context: Context): Promise<string> {
  const file = context.environment.newPassphraseFile
  if (file !== undefined) return readSecretFile('the new passphrase', file)
  return askNewSecret(context, 'New passphrase', 'GITLOCKET_NEW_PASSPHRASE_FILE')
}

/** For `recover`. The text tells which of the two it is. */
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

/** A typing error shows before anything is asked of a remote. */
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
