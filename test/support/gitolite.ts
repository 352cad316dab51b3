// gitolite behind the loopback sshd: a host with accounts, rights per branch and hooks of its own,
// as it is installed from Debian. Its files are in a temporary home; nothing of the machine's is
// touched.

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RemoteOptions } from '../../src/index.ts'
import { startSshServer } from './ssh-server.ts'
import { cleanEnvironment, temporaryDirectory } from './temporary.ts'

export interface Gitolite {
  /** The URL of the repository that the rules are about. */
  readonly url: string
  /** The same for stock git, which reaches it with `GIT_SSH_COMMAND`. */
  readonly environment: NodeJS.ProcessEnv
  readonly alice: RemoteOptions
  readonly bob: RemoteOptions
  /** Where the host keeps it. */
  readonly directory: string
  /** Other rights from now on, such as `RW+ = alice`. */
  allow(...rules: readonly string[]): void
}

export async function startGitolite(...rules: readonly string[]): Promise<Gitolite> {
  const home = temporaryDirectory()
  setUp(home)
  const shell = `env HOME=${home} ${shellPath(home)}`
  const accounts = { user: `${shell} alice`, stranger: `${shell} bob` }
  const { url, command, strangerCommand } = await startSshServer(accounts)
  const environment = cleanEnvironment()
  const allow = (...given: readonly string[]): void => {
    const lines = given.map((rule) => `    ${rule}\n`)
    writeFileSync(join(home, '.gitolite/conf/gitolite.conf'), `repo memory\n${lines.join('')}`)
    gitolite(home, 'compile')
  }
  allow(...rules)
  return {
    url: `${url}/memory`,
    environment: { ...environment, GIT_SSH_COMMAND: command.join(' ') },
    alice: { environment, sshCommand: command },
    bob: { environment, sshCommand: strangerCommand },
    directory: join(home, 'repositories/memory.git'),
    allow,
  }
}

function setUp(home: string): void {
  writeFileSync(join(home, '.gitconfig'), '[init]\n\tdefaultBranch = main\n')
  mkdirSync(join(home, '.ssh'))
  writeFileSync(join(home, '.ssh/authorized_keys'), '')
  gitolite(home, 'setup', '--admin', 'nobody')
}

/** The program that sshd starts in place of the requested one. */
function shellPath(home: string): string {
  return join(gitolite(home, 'query-rc', 'GL_BINDIR').trim(), 'gitolite-shell')
}

function gitolite(home: string, ...words: readonly string[]): string {
  const { GIT_CONFIG_GLOBAL: _, ...environment } = cleanEnvironment(home)
  const env = { ...environment, USER: 'git' }
  return execFileSync('gitolite', words, { env, encoding: 'utf8', stdio: 'pipe' })
}
