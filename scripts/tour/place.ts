// Where the tour's store lies: a new temporary directory, kept so that the reader can go on there.
// What the programs that the tour starts get as their environment.

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

/** What `gitlocket` reads. */
export function variablesOf(place: Place): Readonly<Record<string, string>> {
  return {
    GITLOCKET_STORE: place.directory,
    GITLOCKET_IDENTITY_FILE: place.identityFile,
    GITLOCKET_STATE_DIRECTORY: place.stateDirectory,
    ...(place.recoveryKeyFile && { GITLOCKET_RECOVERY_KEY_FILE: place.recoveryKeyFile }),
  }
}

/** For git and the command line: nothing of the user's git configuration changes what they show. */
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
