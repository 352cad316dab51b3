// What a program that this one starts may know: the user's environment without what would point git
// at another repository, without our own secrets, and with every way of asking a person shut.
// Pure; the environment is passed in.

import type { ProcessEnvironment } from './remote-access.ts'

/** Where the user keeps git's configuration and programs; all else of git's is dropped. */
const keptOfGit = /^GIT_(?:CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM)|EXEC_PATH|SSL_\w+)$/

const unattended: ProcessEnvironment = {
  GIT_TERMINAL_PROMPT: '0',
  // Set and empty: git asks neither this program nor any that it would try next.
  GIT_ASKPASS: '',
  SSH_ASKPASS: '',
  SSH_ASKPASS_REQUIRE: 'never',
  GCM_INTERACTIVE: 'never',
  // What programs say is matched against their English words.
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
