// Device names (FORMAT §1.5): a text for people. A name identifies nothing: device ids do.

import { StoreError } from '../errors.ts'
import { deviceNameCharactersMax } from '../limits.ts'

const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u

/**
 * Like `checkDeviceName`, for a new name: also refuses code points that Unicode has not assigned,
 * because a later Unicode version could forbid them, and with them the whole history.
 */
export function checkNewDeviceName(name: unknown): string {
  const checked = checkDeviceName(name)
  if (!/\p{Cn}/u.test(checked)) return checked
  throw new StoreError('invalid_input', 'A device name must not contain unassigned characters')
}

/** Returns the name, which may be empty. Throws `invalid_input`. */
export function checkDeviceName(name: unknown): string {
  const isName =
    typeof name === 'string' &&
    Array.from(name).length <= deviceNameCharactersMax &&
    !FORBIDDEN.test(name) &&
    name.trim() === name &&
    name.normalize('NFC') === name
  if (isName) return name
  throw new StoreError(
    'invalid_input',
    `A device name must be text of at most ${deviceNameCharactersMax} characters in Unicode ` +
      'normalization form C, without control or format characters, or white space at its ends',
  )
}
