// The directory of the tour's store, temporary but kept, so that the reader can continue there, and
// the environment of the programs that the tour starts.

import { mkdtempSync, writeFileSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'
import { env } from 'node:process'
import { formatIdentity, generateIdentity, type Identity } from 'gitlocket'

export interface Place {
  readonly root: string
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
  readonly identity: Identity
  readonly recoveryKeyFile?: string
}

export async function makePlace(): Promise<Place> {
  const root = mkdtempSync(join(tmpdir(), 'gitlocket-tour-'))
  const identity = await generateIdentity()
  const identityFile = join(root, 'identity')
  writeFileSync(identityFile, `${formatIdentity(identity)}\n`, { mode: 0o600 })
  const directory = join(root, 'store')
  return { root, directory, stateDirectory: join(root, 'state'), identityFile, identity }
}

/** The variables that `gitlocket` reads. */
export function variablesOf(place: Place): Readonly<Record<string, string>> {
  return {
    GITLOCKET_STORE: place.directory,
    GITLOCKET_IDENTITY_FILE: place.identityFile,
    GITLOCKET_STATE_DIRECTORY: place.stateDirectory,
    ...(place.recoveryKeyFile && { GITLOCKET_RECOVERY_KEY_FILE: place.recoveryKeyFile }),
  }
}

/** For git and the command line, independent of the user's git configuration. */
export function childEnvironment(place: Place): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('GIT_'))
  return {
    ...Object.fromEntries(others),
    ...variablesOf(place),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C',
    TZ: 'UTC',
  }
}
