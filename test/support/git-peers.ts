// The remotes that tests of the transport talk to: stock git at a path, behind https with a
// password, and behind ssh.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { RemoteAccess } from '../../src/transport/remote-access.ts'
import { makeCertificate, startGitServer } from './git-server.ts'
import { bareRepository } from './pack-fixtures.ts'
import { startSshServer } from './ssh-server.ts'
import { cleanEnvironment, temporaryDirectory } from './temporary.ts'
import { requires } from './tools.ts'

export type Peer = (repository: string) => Promise<Omit<RemoteAccess, 'environment'>>

export const sshd = requires('sshd')
const openssl = requires('openssl')
const user = { username: 'me', password: 'top secret' }

export async function onSsh(repository: string): ReturnType<Peer> {
  const { url, command } = await startSshServer()
  return { url: `${url}${repository}`, sshCommand: command }
}

const peers: readonly (readonly [string, Peer, boolean])[] = [
  ['a path', async (repository) => ({ url: repository }), false],
  [
    `https with a password and a certificate of its own${openssl.note}`,
    async (repository) => {
      const tls = makeCertificate()
      const { url } = await startGitServer({ repository, tls, user })
      return { url, certificateAuthorities: tls.cert, credentials: async () => user }
    },
    openssl.missing,
  ],
  [`ssh${sshd.note}`, onSsh, sshd.missing],
]

export const runnable = peers.filter(([, , missing]) => !missing)
export const missing = peers.filter(([, , isMissing]) => isMissing)

export async function emptyRemote(
  peer: Peer,
): Promise<{ repository: string; access: RemoteAccess }> {
  // The path has characters that a shell would interpret.
  const repository = join(temporaryDirectory(), "it's a $(remote).git")
  mkdirSync(repository)
  bareRepository(repository)
  const access = { ...(await peer(repository)), environment: cleanEnvironment() }
  return { repository, access }
}
