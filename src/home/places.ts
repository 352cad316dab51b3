// The default places of a user's store, identity and state, by the XDG base directory
// specification. The only file of the library that reads environment variables, and only those
// that it is given.

import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

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
    identityIsNamed: findVariable(variables, 'GITLOCKET_IDENTITY_FILE') !== undefined,
    serverDirectory: join(data, 'server'),
  }
}

/** The value, or undefined if it is unset or empty, which the XDG specification treats alike. */
export function findVariable(variables: Variables, name: string): string | undefined {
  const value = variables[name]
  return value === '' ? undefined : value
}

/** The XDG specification demands that relative paths are ignored. */
function baseDirectory(variables: Variables, name: string, fallback: string): string {
  const value = findVariable(variables, name)
  const base = value?.startsWith('/') === true ? value : join(homeOf(variables), fallback)
  return join(base, 'gitlocket')
}

function homeOf(variables: Variables): string {
  return findVariable(variables, 'HOME') ?? homedir()
}
