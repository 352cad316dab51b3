// Device names (FORMAT §1.5): a text for people. A name identifies nothing: device ids do.

import { StoreError } from '../errors.ts'
import { deviceNameCharactersMax } from '../limits.ts'
import { findWriteProblem, hasForbidden, hasSpaceAtEnd } from './characters.ts'

/** Like `checkDeviceName`, for a name that a device is given: of assigned characters, in NFC. */
export function checkNewDeviceName(name: unknown): string {
  const checked = checkDeviceName(name)
  const problem = findWriteProblem(checked)
  if (problem === undefined) return checked
  throw new StoreError('invalid_input', `A new device name must ${problem}`)
}

/** Returns the name, which may be empty. Throws `invalid_input`. */
export function checkDeviceName(name: unknown): string {
  const isName =
    typeof name === 'string' &&
    Array.from(name).length <= deviceNameCharactersMax &&
    !hasForbidden(name) &&
    !hasSpaceAtEnd(name)
  if (isName) return name
  throw new StoreError(
    'invalid_input',
    `A device name must be text of at most ${deviceNameCharactersMax} characters, without ` +
      'control or invisible characters, or white space at its ends',
  )
}

/** Turns any text into a valid name, by leaving out the characters that a name must not have. */
export function fitDeviceName(text: string): string {
  const kept = Array.from(text.normalize('NFC'))
    .filter((character) => !hasForbidden(character) && findWriteProblem(character) === undefined)
    .slice(0, deviceNameCharactersMax)
  // Leaving characters out may bring others together that have one normal form.
  return kept.join('').normalize('NFC').trim()
}
