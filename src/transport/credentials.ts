// Who we are to an https host: a callback of the caller, GITLOCKET_TOKEN, or git's own credential
// helpers, in this order, without ever asking a person. Nothing is kept here, nor shown: secrets
// travel on standard input, never in arguments.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { hasCode } from '../errors.ts'
import { childEnvironment } from './environment.ts'
import type { Credentials, RemoteAccess } from './remote-access.ts'
import { secretForms } from './server-text.ts'
import { awaitMoved, type Patience } from './stall.ts'

/** An answer that is not accepted is asked for again, in case the helper has a better one. */
const attemptsMax = 3
const answerBytesMax = 65_536
/** Hosts that take a token take any name with it; this one suits those that want a certain one. */
const tokenUser = 'x-access-token'

export class Authenticator {
  readonly #access: RemoteAccess
  /** Of the repository, without credentials. */
  readonly #url: URL
  readonly #patience: Patience
  readonly #secrets: Set<string> = new Set()
  #attempt = 0
  #current: Credentials | undefined
  /** Whether git gave the current answer, and wants to know what became of it. */
  #ofGit = false

  constructor(access: RemoteAccess, url: URL, patience: Patience) {
    this.#access = access
    this.#url = url
    this.#patience = patience
  }

  /** All that has been used, in every form in which it may come back. */
  get secrets(): readonly string[] {
    return [...this.#secrets]
  }

  /** Undefined if there is nothing, or nothing else. An answer before was not accepted. */
  async next(): Promise<Credentials | undefined> {
    if (this.#attempt > 0) await this.#tellGit('reject')
    this.#attempt += 1
    const before = this.#current
    this.#current = this.#attempt > attemptsMax ? undefined : await this.#find()
    const { username, password } = this.#current ?? {}
    const same = before?.username === username && before?.password === password
    if (same) this.#current = undefined
    for (const form of this.#current ? secretForms(this.#current) : []) this.#secrets.add(form)
    return this.#current
  }

  async accepted(): Promise<void> {
    await this.#tellGit('approve')
  }

  async #find(): Promise<Credentials | undefined> {
    const { credentials, environment = {} } = this.#access
    this.#ofGit = false
    if (credentials !== undefined) {
      return credentials({ url: this.#url.href, attempt: this.#attempt })
    }
    const { GITLOCKET_TOKEN: token } = environment
    if (token !== undefined && token !== '') return this.#withToken(token)
    this.#ofGit = true
    return parseAnswer(await this.#git('fill'))
  }

  /** `user:token` for the hosts that care; never where somebody could listen. */
  #withToken(token: string): Credentials | undefined {
    if (this.#url.protocol !== 'https:') return undefined
    const colon = token.indexOf(':')
    if (colon === -1) return { username: tokenUser, password: token }
    return { username: token.slice(0, colon), password: token.slice(colon + 1) }
  }

  async #tellGit(verb: 'approve' | 'reject'): Promise<void> {
    if (this.#ofGit && this.#current !== undefined) await this.#git(verb, this.#current)
  }

  /** What `git credential` prints; nothing if it fails, hangs, or git is not installed. */
  async #git(verb: 'fill' | 'approve' | 'reject', known?: Credentials): Promise<string> {
    const { protocol, host, pathname } = this.#url
    const fields = { protocol: protocol.slice(0, -1), host, path: pathname.slice(1), ...known }
    const question = Object.entries(fields).map(([key, value]) => `${key}=${value}\n`)
    const child = spawn('git', ['credential', verb], {
      cwd: '/',
      env: childEnvironment(this.#access.environment),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    child.stdin.on('error', () => undefined)
    child.stdin.end(`${question.join('')}\n`)
    try {
      return await awaitMoved(outputOf(child), this.#patience)
    } catch (error) {
      child.kill()
      // A helper may wait for a person who is not there.
      if (hasCode(error, 'remote_timeout')) return ''
      throw error
    }
  }
}

/** Empty if it fails. */
function outputOf(child: ChildProcessByStdio<Writable, Readable, null>): Promise<string> {
  return new Promise((resolve) => {
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      if (output.length < answerBytesMax) output += chunk.toString('utf8')
    })
    child.once('error', () => resolve(''))
    child.once('close', (code) => resolve(code === 0 ? output : ''))
  })
}

function parseAnswer(text: string): Credentials | undefined {
  const fields = new Map<string, string>()
  for (const line of text.split('\n')) {
    const equals = line.indexOf('=')
    if (equals > 0) fields.set(line.slice(0, equals), line.slice(equals + 1))
  }
  const [username, password] = [fields.get('username'), fields.get('password')]
  return username === undefined || password === undefined ? undefined : { username, password }
}
