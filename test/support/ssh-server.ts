// A loopback sshd for tests, with keys of its own, that lets the current user in and runs what git
// asks for, or what a host puts in its place. Ended when the test ends.

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePort } from './free-port.ts'
import { temporaryDirectory } from './temporary.ts'

export interface SshServer {
  /** Before the path of a repository: `ssh://user@127.0.0.1:port`. */
  readonly url: string
  /** Program and arguments that know the host and have the key. */
  readonly command: readonly string[]
  /** The same for a user whose key is not accepted. */
  readonly strangerCommand: readonly string[]
  /** The same for a user without the host's key. */
  readonly newcomerCommand: readonly string[]
}

/** What a key may run whatever is asked for; a key that is missing here is not let in. */
export type ForcedCommands = Readonly<Partial<Record<'user' | 'stranger', string>>>

export async function startSshServer(forced?: ForcedCommands): Promise<SshServer> {
  const directory = temporaryDirectory()
  const at = (name: string): string => join(directory, name)
  for (const name of ['host', 'user', 'stranger']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)])
  }
  writeFileSync(at('authorized'), authorizedKeys(directory, forced).join(''))
  const port = await freePort()
  writeFileSync(at('config'), serverConfig(directory, port).join('\n'))
  // Where it separates privileges, if it is started by root.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  const sshd = execFileSync('/bin/sh', ['-c', 'PATH=$PATH:/usr/sbin:/sbin command -v sshd'])
  const child = spawn(sshd.toString().trim(), ['-D', '-e', '-f', at('config')], { stdio: 'ignore' })
  onTestFinished(() => void child.kill())
  await untilOpen(port)
  const hostKey = execFileSync('cut', ['-d', ' ', '-f', '1,2', at('host.pub')], {
    encoding: 'utf8',
  })
  writeFileSync(at('known'), `[127.0.0.1]:${port} ${hostKey}`)
  writeFileSync(at('unknown'), '')
  const command = (key: string, known: string): string[] => {
    const files = `-F /dev/null -i ${at(key)} -o UserKnownHostsFile=${at(known)}`
    const only = '-o IdentitiesOnly=yes -o GlobalKnownHostsFile=/dev/null'
    return `ssh ${files} ${only}`.split(' ')
  }
  return {
    url: `ssh://${userInfo().username}@127.0.0.1:${port}`,
    command: command('user', 'known'),
    strangerCommand: command('stranger', 'known'),
    newcomerCommand: command('user', 'unknown'),
  }
}

function serverConfig(directory: string, port: number): readonly string[] {
  return [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(directory, 'host')}`,
    `PidFile ${join(directory, 'pid')}`,
    `AuthorizedKeysFile ${join(directory, 'authorized')}`,
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PermitRootLogin yes',
    // The default is safe from quantum computers, and costs ten times as much.
    'KexAlgorithms curve25519-sha256',
  ]
}

function authorizedKeys(directory: string, forced?: ForcedCommands): readonly string[] {
  const publicKey = (name: string): string => readFileSync(join(directory, `${name}.pub`), 'utf8')
  if (forced === undefined) return [publicKey('user')]
  return Object.entries(forced).map(([name, command]) => {
    return `command="${command}",restrict ${publicKey(name)}`
  })
}

async function untilOpen(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (await isOpen(port)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('sshd did not start')
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
