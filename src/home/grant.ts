// The grant that environment variables name (docs/SANDBOXES.md): a bearer text, or a file with it,
// and the remote that it is for. With one, no identity file and no `join` are needed.

import { findDuration } from '../duration.ts'
import { StoreError } from '../errors.ts'
import { findTextFile } from './files.ts'
import { findVariable, type Variables } from './places.ts'

export interface NamedGrant {
  /** `GLKG1-…` */
  readonly grant: string
  /** The address of the remote. */
  readonly url: string
  /** Whether the whole history is wanted at the beginning. */
  readonly full: boolean
  /** The age of a state beyond which it is refused. */
  readonly maxAgeMs: number | undefined
}

/** Undefined if neither variable is set. Throws `invalid_input`. */
export function findGrant(variables: Variables): NamedGrant | undefined {
  const text = findVariable(variables, 'GITLOCKET_GRANT')
  const file = findVariable(variables, 'GITLOCKET_GRANT_FILE')
  if (text === undefined && file === undefined) {
    checkNotEmpty(variables)
    return undefined
  }
  if (text !== undefined && file !== undefined) {
    throw new StoreError('invalid_input', 'Set GITLOCKET_GRANT or GITLOCKET_GRANT_FILE, not both')
  }
  const url = findVariable(variables, 'GITLOCKET_REMOTE')?.trim()
  if (url === undefined) {
    throw new StoreError(
      'invalid_input',
      'A grant needs the address of the remote as well: set GITLOCKET_REMOTE',
    )
  }
  const full = findVariable(variables, 'GITLOCKET_FULL') === '1'
  const maxAgeMs = findMaxAge(variables)
  return { grant: text?.trim() ?? readGrant(file ?? ''), url, full, maxAgeMs }
}

function findMaxAge(variables: Variables): number | undefined {
  const text = findVariable(variables, 'GITLOCKET_MAX_AGE')?.trim()
  if (text === undefined) return undefined
  const duration = findDuration(text)
  if (duration !== undefined && duration > 0) return duration
  throw new StoreError('invalid_input', 'GITLOCKET_MAX_AGE must be a duration such as 36h or 7d')
}

/** A job without access to its secret has an empty variable, and must not ask for an identity. */
function checkNotEmpty(variables: Variables): void {
  if (variables['GITLOCKET_GRANT'] !== '') return
  if (findVariable(variables, 'GITLOCKET_REMOTE') === undefined) return
  throw new StoreError(
    'invalid_input',
    'GITLOCKET_GRANT is empty: the secret that it comes from may be missing here',
  )
}

function readGrant(file: string): string {
  const text = findTextFile('the file with the grant', file, true)?.trim()
  if (text !== undefined) return text
  throw new StoreError('invalid_input', `There is no file with a grant at ${file}`)
}

/**
 * Names the clone of a grant's holder: by its public beginning, which names the store, and by its
 * checksum. Needs no cryptography, which the start of a program would wait for.
 */
export function cloneNameOf({ grant }: Pick<NamedGrant, 'grant'>): string {
  const digits = grant.replaceAll(/[^0-9A-Za-z]/g, '').toLowerCase()
  return `${digits.slice(5, 31)}-${digits.slice(-6)}`
}
