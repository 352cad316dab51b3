// The two kinds of hosts that syncing is measured over: a directory, and an https server on the
// loopback interface. Both serve bare repositories with stock git.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { HostMessage, HostRequest } from './https-host-child.ts'
import { cleanEnvironment, run } from './machine.ts'

export interface Host {
  /** `loopback https` */
  readonly name: string
  /** The configuration that git needs for the host. */
  readonly environment: NodeJS.ProcessEnv
  /** PEM of the certificate to trust, for https. */
  readonly authorities: string | undefined
  /** Makes an empty bare repository; returns its URL. */
  addRepository(name: string): string
  /** All bytes so far, in both directions; undefined for a directory. */
  countBytes(): Promise<number | undefined>
  close(): Promise<void>
}

export interface HostKind {
  readonly name: string
  /** Below an empty directory. Throws if something has to be installed first. */
  readonly start: (directory: string) => Promise<Host>
}

const pathHost: HostKind = {
  name: 'a local path',
  async start(directory) {
    return {
      name: this.name,
      environment: {},
      authorities: undefined,
      addRepository: (name) => makeRepository(directory, name),
      countBytes: () => Promise.resolve(undefined),
      close: () => Promise.resolve(),
    }
  },
}

const httpsHost: HostKind = {
  name: 'loopback https',
  async start(directory) {
    const certificate = makeCertificate(directory)
    const child = startServer({ directory, ...certificate })
    const { port } = await nextMessage<{ readonly port: number }>(child)
    return {
      name: this.name,
      environment: { GIT_SSL_CAINFO: certificate.certificateFile },
      authorities: readFileSync(certificate.certificateFile, 'utf8'),
      addRepository(name) {
        makeRepository(directory, name)
        return `https://127.0.0.1:${port}/${name}`
      },
      async countBytes() {
        child.send('bytes')
        return (await nextMessage<{ readonly bytes: number }>(child)).bytes
      },
      async close() {
        const ended = once(child, 'exit')
        child.disconnect()
        await ended
      },
    }
  },
}

export const hostKinds: readonly HostKind[] = [pathHost, httpsHost]

/** A repository without automatic maintenance, which would disturb measurements. */
function makeRepository(directory: string, name: string): string {
  const path = join(directory, name)
  run('git', ['init', '--quiet', '--bare', '--initial-branch=main', path], { cwd: directory })
  run('git', ['config', 'receive.autogc', 'false'], { cwd: path })
  return path
}

function startServer(request: HostRequest): ChildProcess {
  const module = fileURLToPath(new URL('https-host-child.js', import.meta.url))
  const env = cleanEnvironment(request.directory)
  const child = fork(module, [JSON.stringify(request)], { env })
  process.on('exit', () => child.kill())
  return child
}

async function nextMessage<T extends HostMessage>(child: ChildProcess): Promise<T> {
  const [message]: readonly T[] = await once(child, 'message')
  if (message === undefined) throw new Error('The https server says nothing')
  return message
}

/** Self-signed, for 127.0.0.1. */
function makeCertificate(directory: string): Pick<HostRequest, 'keyFile' | 'certificateFile'> {
  const [keyFile, certificateFile] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const files = ['-keyout', keyFile, '-out', certificateFile]
  run('openssl', ['req', ...kind, ...subject, ...files], { cwd: directory })
  return { keyFile, certificateFile }
}
