// The wire over a process: git itself for a path, the user's ssh for a host. Both speak the
// stateful protocol on their standard streams. Must never prompt, hang, or leave a process; the
// error output is only used to explain a failure.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { concatBytes, utf8 } from '../bytes.ts'
import type { StoreError } from '../errors.ts'
import { quoteWord, splitCommand } from './command-line.ts'
import { childEnvironment } from './environment.ts'
import { pathProgram, type ServiceProgram } from './path-git.ts'
import { encodePacket, flushPacket, lengthDigits, PacketReader, protocolError } from './pkt-line.ts'
import { processFailure } from './process-failure.ts'
import type { RemoteAccess } from './remote-access.ts'
import type { FileUrl, SshUrl } from './remote-url.ts'
import { awaitMoved, moving, type Patience } from './stall.ts'
import {
  advertisementBytesMax,
  type Request,
  type Response,
  type Service,
  tooManyRefs,
  wholeBody,
  type Wire,
} from './wire.ts'

const stderrBytesMax = 16_384
/** How long a process may take to end after its streams are closed. */
const endMsMax = 1000

/** The command that serves `service` at `url`. */
async function programFor(
  url: SshUrl | FileUrl,
  service: Service,
  access: RemoteAccess,
  patience: Patience,
): Promise<ServiceProgram> {
  if (url.kind === 'file') return pathProgram(url.path, service, access, patience)
  const { user, host, port, path } = url
  const command = [
    ...sshCommandOf(access),
    '-o',
    'BatchMode=yes',
    ...(port === undefined ? [] : ['-p', String(port)]),
    user === undefined ? host : `${user}@${host}`,
    `${service} ${quoteWord(path)}`,
  ]
  return { command, environment: childEnvironment(access.environment) }
}

function sshCommandOf({ sshCommand, environment = {} }: RemoteAccess): readonly string[] {
  if (sshCommand !== undefined) return sshCommand
  const { GIT_SSH_COMMAND: command, GIT_SSH: program } = environment
  if (command !== undefined && command !== '') return splitCommand(command)
  return [program === undefined || program === '' ? 'ssh' : program]
}

export class ProcessWire implements Wire {
  readonly url: string
  readonly secrets: readonly string[] = []
  readonly #remote: SshUrl | FileUrl
  readonly #service: Service
  readonly #patience: Patience
  readonly #child: ChildProcessWithoutNullStreams
  readonly #ended: Promise<number | undefined>
  #reader: PacketReader | undefined
  #stderr = ''
  #spawnError: unknown

  static async open(
    remote: SshUrl | FileUrl,
    service: Service,
    access: RemoteAccess,
    patience: Patience,
  ): Promise<ProcessWire> {
    const program = await programFor(remote, service, access, patience)
    return new ProcessWire(remote, service, program, patience)
  }

  private constructor(
    remote: SshUrl | FileUrl,
    service: Service,
    { command, environment }: ServiceProgram,
    patience: Patience,
  ) {
    // GitRemoteHTTP only appends to it, and does not parse it.
    this.url = remote.kind
    this.#remote = remote
    this.#service = service
    this.#patience = patience
    const [program = '', ...args] = command
    this.#child = spawn(program, args, { cwd: '/', env: environment, stdio: 'pipe' })
    this.#ended = this.#watch()
  }

  async request({ method, body }: Request): Promise<Response> {
    const { url } = this
    const chunks = method === 'POST' ? this.#converse(body) : wholeBody(await this.#advertisement())
    const kind = method === 'POST' ? 'result' : 'advertisement'
    const headers = { 'content-type': `application/x-${this.#service}-${kind}` }
    return {
      url,
      method: method ?? 'GET',
      statusCode: 200,
      statusMessage: 'OK',
      headers,
      body: chunks,
    }
  }

  async explain(): Promise<StoreError | undefined> {
    const child = this.#child
    child.stdin.destroy()
    const code = await Promise.race([this.#ended, pause(endMsMax).then(() => undefined)])
    if (code === 0) return undefined
    const failure = { code, stderr: this.#stderr, cause: this.#spawnError }
    return processFailure(this.#remote, failure)
  }

  async close(): Promise<void> {
    const child = this.#child
    // A flush packet tells the process that nothing is wanted, and it ends.
    if (child.stdin.writable) child.stdin.end(flushPacket)
    // A process blocked on its output would not end, and an unread stream would not close.
    child.stdout.destroy()
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if ((await Promise.race([this.#ended, pause(endMsMax)])) !== 'late') break
      child.kill(signal)
    }
    child.stderr.destroy()
    child.stdin.destroy()
    await this.#ended
  }

  /** Resolves to the exit code; undefined after a signal, or if it never started. */
  #watch(): Promise<number | undefined> {
    const child = this.#child
    // A process that ends early closes its input; its error output says why.
    child.stdin.on('error', () => undefined)
    child.stdout.on('error', () => undefined)
    child.stderr.on('error', () => undefined)
    child.stderr.on('data', (chunk: Buffer) => {
      if (this.#stderr.length < stderrBytesMax) this.#stderr += chunk.toString('utf8')
    })
    return new Promise((resolve) => {
      child.once('error', (error) => {
        this.#spawnError = error
        resolve(undefined)
      })
      child.once('close', (code) => resolve(code ?? undefined))
      child.once('exit', (code) => {
        // A child of the process may hold the streams open for longer.
        setTimeout(() => resolve(code ?? undefined), 200).unref()
      })
    })
  }

  /** Read completely: GitRemoteHTTP takes an error in the middle for the end. */
  async #advertisement(): Promise<Uint8Array> {
    const chunks = moving(this.#child.stdout, this.#patience, () => undefined)
    this.#reader = new PacketReader(chunks, this.#patience.signal)
    const parts: Uint8Array[] = [encodePacket(`# service=${this.#service}\n`), flushPacket]
    let bytes = 0
    for (;;) {
      const packet = await this.#reader.read()
      if (packet === undefined) throw (await this.explain()) ?? protocolError('it said nothing')
      if (packet === 'flush') break
      bytes += lengthDigits + packet.length
      if (bytes > advertisementBytesMax) throw tooManyRefs()
      parts.push(utf8((packet.length + 4).toString(16).padStart(4, '0')), packet)
    }
    return concatBytes(...parts, flushPacket)
  }

  async *#converse(body: Request['body']): AsyncGenerator<Uint8Array> {
    const reader = this.#reader
    if (reader === undefined) throw protocolError('nothing was asked yet')
    // Not awaited: the output must be read while the input is written.
    const sent = this.#pump(body)
    let failure: unknown
    sent.catch((error: unknown) => {
      failure = error
      this.#child.kill()
    })
    yield* reader.rest()
    if (failure !== undefined) throw failure
  }

  async #pump(body: Request['body']): Promise<void> {
    const { stdin } = this.#child
    for await (const chunk of body ?? []) {
      if (!stdin.writable) return
      if (!stdin.write(chunk)) await awaitMoved(drained(stdin), this.#patience)
    }
    stdin.end()
  }
}

function drained(stream: ChildProcessWithoutNullStreams['stdin']): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done)
      stream.off('close', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
  })
}

function pause(ms: number): Promise<'late'> {
  return new Promise((resolve) => {
    setTimeout(() => resolve('late'), ms).unref()
  })
}
