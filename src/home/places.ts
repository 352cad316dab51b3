// The default places of a user's store, identity and state, by the XDG base directory
// specification. The only file of the library that reads environment variables, and only those
// that it is given. A place is worked out when it is asked for: a machine that names the places it
// uses needs no home directory.

import { userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { StoreError } from '../errors.ts'

/** Environment variables, such as `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>

export interface DefaultPlaces {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
  /** The user has named it. */
  readonly identityIsNamed: boolean
  /** Where `gitlocket serve` keeps its stores. */
  readonly serverDirectory: string
}

/**
 * Absolute paths. docs/CLI.md lists the variables. Reading a place that depends on the home
 * directory throws what `homeDirectoryOf` throws.
 */
export function defaultPlaces(
  variables: Variables,
  /** Of the clone of a grant's holder, which is no place for a device's store. */
  cloneName?: string,
): DefaultPlaces {
  const below = (name: string, fallback: string, file = ''): string =>
    join(baseDirectoryOf(variables, name, fallback), 'gitlocket', file)
  const named = (name: string): string | undefined => {
    const value = findVariable(variables, name)
    return value === undefined ? undefined : resolve(value)
  }
  const data = ['XDG_DATA_HOME', '.local/share'] as const
  return {
    get directory() {
      const file = cloneName === undefined ? 'store' : join('grants', cloneName)
      return named('GITLOCKET_STORE') ?? below(...data, file)
    },
    get stateDirectory() {
      return named('GITLOCKET_STATE_DIRECTORY') ?? below('XDG_STATE_HOME', '.local/state')
    },
    get identityFile() {
      return named('GITLOCKET_IDENTITY_FILE') ?? below('XDG_CONFIG_HOME', '.config', 'identity')
    },
    identityIsNamed: findVariable(variables, 'GITLOCKET_IDENTITY_FILE') !== undefined,
    get serverDirectory() {
      return below(...data, 'server')
    },
  }
}

/** The value, or undefined if it is unset or empty, which the XDG specification treats alike. */
export function findVariable(variables: Variables, name: string): string | undefined {
  const value = variables[name]
  return value === '' ? undefined : value
}

/** The value if it is an absolute path: the XDG specification demands that others are ignored. */
export function findAbsolute(variables: Variables, name: string): string | undefined {
  const value = findVariable(variables, name)
  return value !== undefined && isAbsolute(value) ? value : undefined
}

/** A base directory of the XDG specification; `fallback` is below the home directory. */
export function baseDirectoryOf(variables: Variables, name: string, fallback: string): string {
  return findAbsolute(variables, name) ?? join(homeDirectoryOf(variables), fallback)
}

/**
 * HOME if it is absolute, else the home directory in the user's passwd entry, and never the
 * working directory, which others may read. Throws `invalid_input` if neither is there: a container
 * may run under a user id that has no entry.
 */
export function homeDirectoryOf(variables: Variables): string {
  const home = findAbsolute(variables, 'HOME') ?? findPasswdHome()
  if (home !== undefined) return home
  throw new StoreError(
    'invalid_input',
    'There is no home directory: set HOME to an absolute path, or set GITLOCKET_STORE, ' +
      'GITLOCKET_IDENTITY_FILE and GITLOCKET_STATE_DIRECTORY',
  )
}

/** `os.homedir` would return HOME again, even if it is empty or relative. */
function findPasswdHome(): string | undefined {
  try {
    const { homedir } = userInfo()
    return isAbsolute(homedir) ? homedir : undefined
  } catch {
    // This user id has no entry.
    return undefined
  }
}
