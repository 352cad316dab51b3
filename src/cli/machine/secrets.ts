// Reads passphrases and recovery keys: from a file that a variable names, else from a prompt. Never
// from an argument, which every process of the machine can read.

import { hasCode } from '../../errors.ts'
import { parseOperatorSecret, parseRecoveryKey } from '../../keys/identity.ts'
import { passphraseCharactersMin } from '../../limits.ts'
import { CommandError, type Context } from '../call/command.ts'
import { askNewSecret, askSecret, canAsk } from '../terminal/prompt.ts'
import { readMarkedSecret, readSecretFile } from './files.ts'

/** A secret that opens a store for a device that is not enrolled. */
export type EntrySecret =
  | { readonly passphrase: string }
  | { readonly recoveryKey: string }
  | { readonly operatorSecret: string }

/** The passphrase for `init`; undefined without a file and a terminal, or for empty input. */
export async function findFirstPassphrase(context: Context): Promise<string | undefined> {
  const file = context.environment.passphraseFile
  if (file !== undefined) return readSecretFile('the passphrase', file)
  if (!canAsk(context)) return undefined
  process.stderr.write(
    'A passphrase lets your other machines join this store. You can leave it empty\n' +
      'and set one later; the recovery key, which is made in any case, lets them join\n' +
      'too.\n',
  )
  const question = `New passphrase (${leastLength}; empty for none)`
  const typed = await askNewSecret(context, question, 'GITLOCKET_PASSPHRASE_FILE', (secret) => {
    if (secret !== '') checkLength(secret)
  })
  return typed === '' ? undefined : typed
}

/** The new passphrase for `key passwd`. */
export async function getNewPassphrase(context: Context): Promise<string> {
  const file = context.environment.newPassphraseFile
  if (file !== undefined) return readSecretFile('the new passphrase', file)
  const question = `New passphrase (${leastLength})`
  return askNewSecret(context, question, 'GITLOCKET_NEW_PASSPHRASE_FILE', checkLength)
}

const leastLength = `at least ${passphraseCharactersMin} characters`

/** What the store would refuse is not asked for again. */
function checkLength(secret: string): void {
  if (findKeyText(secret) !== undefined) {
    const hint = 'Choose other words; `join` and `recover` take the recovery key too'
    throw new CommandError('invalid_input', 'A recovery key cannot be the passphrase', hint)
  }
  if (Array.from(secret).length >= passphraseCharactersMin) return
  const hint = 'A few random words are long enough, and easy to remember'
  throw new CommandError('invalid_input', `A passphrase must have ${leastLength}`, hint)
}

/** Runs the work of `recover` or `join` with the secret that its user gives. */
export async function withSecret<T>(
  context: Context,
  work: (secret: EntrySecret) => Promise<T>,
): Promise<T> {
  const [secret, older] = await getSecrets(context)
  try {
    return await work(secret)
  } catch (error) {
    if (older === undefined || !hasCode(error, 'wrong_key')) throw error
    return work(older)
  }
}

/**
 * The secret, whose form distinguishes the kinds, and how earlier versions read it, which took a
 * byte-order mark for a part of the passphrase.
 */
async function getSecrets(context: Context): Promise<readonly [EntrySecret, EntrySecret?]> {
  const { passphraseFile, recoveryKeyFile } = context.environment
  const operatorSecret = findOperatorSecret(context)
  if (operatorSecret !== undefined) return [{ operatorSecret }]
  if (recoveryKeyFile !== undefined) {
    const text = readSecretFile('the recovery key', recoveryKeyFile)
    return [checked(findKeyText(text) ?? text)]
  }
  if (passphraseFile !== undefined) {
    const [passphrase, marked] = readMarkedSecret('the passphrase', passphraseFile)
    const key = findKeyText(passphrase)
    if (key !== undefined) return [checked(key)]
    return marked === undefined ? [{ passphrase }] : [{ passphrase }, { passphrase: marked }]
  }
  const variable = 'GITLOCKET_PASSPHRASE_FILE or GITLOCKET_RECOVERY_KEY_FILE'
  const typed = await askSecret(context, 'Passphrase or recovery key', variable)
  const key = findKeyText(typed)
  return [key === undefined ? { passphrase: typed } : checked(key)]
}

/**
 * A recovery key or an operator secret with the prefix that its reader expects. People type spaces,
 * dashes of any kind or nothing between the groups, and `I` or `L` for the 1 of the prefix.
 */
function findKeyText(typed: string): string | undefined {
  const digits = typed.replaceAll(/[\s\p{Dash}.,:;_/]/gu, '').toUpperCase()
  const [prefix, kind = ''] = /^GLK([RO0])[1IL]/.exec(digits) ?? []
  if (prefix === undefined) return undefined
  return `GLK${kind === 'R' ? 'R' : 'O'}1-${digits.slice(prefix.length)}`
}

/** The operator secret that the recovery key of a new store follows from, if there is one. */
export function findOperatorSecret({ environment }: Context): string | undefined {
  const { operatorSecretFile: file } = environment
  if (file === undefined) return undefined
  const text = readSecretFile('the operator secret', file)
  const operatorSecret = findKeyText(text) ?? text
  checked(operatorSecret)
  return operatorSecret
}

/** Rejects a mistyped recovery key or operator secret before any remote is contacted. */
function checked(typed: string): EntrySecret {
  const isOperator = typed.startsWith('GLKO1-')
  try {
    if (isOperator) {
      parseOperatorSecret(typed)
      return { operatorSecret: typed }
    }
    parseRecoveryKey(typed)
    return { recoveryKey: typed }
  } catch (error) {
    if (!hasCode(error, 'invalid_identity')) throw error
    const hint = isOperator
      ? 'Compare it with what `gitlocket key operator` printed: GLKO1- and eight groups of seven ' +
        'characters'
      : 'Compare it with what `gitlocket init` or `gitlocket key recovery` printed: GLKR1- and ' +
        'eight groups of eight characters'
    throw new CommandError('invalid_identity', error.message, hint, { place: '' })
  }
}
