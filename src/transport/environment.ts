// The environment for child processes: the user's, without variables that point git at another
// repository and without gitlocket's secrets, and with every prompt disabled. Pure; the environment
// is passed in.

import type { ProcessEnvironment } from './remote-access.ts'

/** Where the user keeps git's configuration and programs; other GIT_ variables are dropped. */
const keptOfGit = /^GIT_(?:CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM)|EXEC_PATH|SSL_\w+)$/

const unattended: ProcessEnvironment = {
  GIT_TERMINAL_PROMPT: '0',
  // Set but empty: git then uses neither this program nor a fallback.
  GIT_ASKPASS: '',
  SSH_ASKPASS: '',
  SSH_ASKPASS_REQUIRE: 'never',
  GCM_INTERACTIVE: 'never',
  // Messages of programs are matched in English.
  LC_ALL: 'C',
}

export function childEnvironment(environment: ProcessEnvironment = {}): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || name.startsWith('GITLOCKET_')) continue
    if (!name.startsWith('GIT_') || keptOfGit.test(name)) kept[name] = value
  }
  return { ...kept, ...definedIn(unattended) }
}

function definedIn(environment: ProcessEnvironment): Record<string, string> {
  const entries = Object.entries(environment)
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
