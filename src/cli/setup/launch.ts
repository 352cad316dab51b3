// How an agent program starts `gitlocket`: the command line that works there, where the variables
// of a user's shell may be missing, and its form for shells.

import { StoreError } from '../../errors.ts'
import type { AgentEnvironment, Environment } from '../call/environment.ts'
import { programFile } from '../own-package.ts'
import type { Launch, Scope } from './clients.ts'

/**
 * For one user: absolute paths, since a desktop program has a short PATH, and this machine's places
 * where they are not the usual ones. For a project, whose file others get too: the bare command.
 * Throws `invalid_input`.
 */
export function launchOf(
  environment: Environment,
  { usualPlaces }: AgentEnvironment,
  scope: Scope,
  words: readonly string[],
): Launch {
  const { storeDirectory, identityFile, stateDirectory } = environment
  const isUsualStore = storeDirectory === usualPlaces.directory
  if (scope === 'project') {
    if (isUsualStore) return { command: 'gitlocket', args: words, env: {} }
    throw new StoreError(
      'invalid_input',
      'The files of a project are for others too, and this store is not at its usual place: use ' +
        '--scope user',
    )
  }
  checkIsInstalled(programFile)
  const store = isUsualStore ? [] : ['--store', storeDirectory]
  return {
    command: process.execPath,
    args: [programFile, ...words, ...store],
    env: {
      ...(identityFile !== usualPlaces.identityFile && { GITLOCKET_IDENTITY_FILE: identityFile }),
      ...(stateDirectory !== usualPlaces.stateDirectory && {
        GITLOCKET_STATE_DIRECTORY: stateDirectory,
      }),
    },
  }
}

/** Where commands that run a package without installing it keep it, until they clear it. */
const caches: readonly [command: string, place: RegExp][] = [
  ['npx', /[\\/]_npx[\\/]/],
  ['pnpm dlx', /[\\/](?:dlx|pnpm[\\/].*[\\/]dlx-[^\\/]+)[\\/](?:.*[\\/])?node_modules[\\/]/],
  ['yarn dlx', /[\\/]dlx-[^\\/]+[\\/]|[\\/]\.yarn[\\/](?:berry[\\/])?cache[\\/]/],
  ['bunx', /[\\/]bunx-[^\\/]+[\\/]/],
]

/** Throws `invalid_input` for a program that will not last. */
export function checkIsInstalled(file: string): void {
  const found = caches.find(([, place]) => place.test(file))
  if (found === undefined) return
  throw new StoreError(
    'invalid_input',
    `This gitlocket is in a cache that ${found[0]} clears: run \`npm install -g gitlocket\` first`,
  )
}

/** One line for a POSIX shell. */
export function shellLine(words: readonly string[]): string {
  return words.map(shellWord).join(' ')
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
