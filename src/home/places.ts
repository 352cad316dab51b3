// Where the store of a user, its identity and its state are unless someone says otherwise: by the
// XDG base directory specification. The only file of the library that looks at variables, and only
// at those that it is given.

import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** As `process.env` has them. */
export type Variables = Readonly<Record<string, string | undefined>>

export interface DefaultPlaces {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
}

/** Absolute paths. docs/CLI.md lists the variables. */
export function defaultPlaces(variables: Variables): DefaultPlaces {
  const data = baseDirectory(variables, 'XDG_DATA_HOME', '.local/share')
  const config = baseDirectory(variables, 'XDG_CONFIG_HOME', '.config')
  const state = baseDirectory(variables, 'XDG_STATE_HOME', '.local/state')
  const place = (name: string, other: string): string =>
    resolve(findVariable(variables, name) ?? other)
  return {
    directory: place('GITLOCKET_STORE', join(data, 'store')),
    stateDirectory: place('GITLOCKET_STATE_DIRECTORY', state),
    identityFile: place('GITLOCKET_IDENTITY_FILE', join(config, 'identity')),
  }
}

/** Undefined if unset or empty, as the XDG specification and common sense have it. */
export function findVariable(variables: Variables, name: string): string | undefined {
  const value = variables[name]
  return value === '' ? undefined : value
}

/** The XDG specification tells programs to ignore relative paths. */
function baseDirectory(variables: Variables, name: string, fallback: string): string {
  const value = findVariable(variables, name)
  const base = value?.startsWith('/') === true ? value : join(homeOf(variables), fallback)
  return join(base, 'gitlocket')
}

function homeOf(variables: Variables): string {
  return findVariable(variables, 'HOME') ?? homedir()
}
