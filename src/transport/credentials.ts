// Finds credentials for an https host: a callback of the caller, GITLOCKET_TOKEN if this is the
// host that it is for, or git's credential helpers, in this order, without a prompt. Must not store
// or show secrets: they are passed on standard input, never in arguments.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { hasCode, StoreError } from '../errors.ts'
import { onlyLine } from '../plain-input.ts'
import { secretForms } from './failures.ts'
import { childEnvironment } from './git-settings.ts'
import type { Credentials, ProcessEnvironment, RemoteAccess } from './remote-access.ts'
import { awaitMoved, type Patience } from './stall.ts'

/** After a rejection the source is asked again, in case a helper has other credentials. */
const attemptsMax = 3
const answerBytesMax = 65_536
/**
 * Most hosts accept any user name with a token; this one suits hosts that require a certain name.
 */
const tokenUser = 'x-access-token'
/** A name or an address, and perhaps a port: no list, no pattern, and nothing else of a URL. */
const hostForm = /^(?:\[[0-9a-f:.]+\]|[\p{L}\p{N}.-]+)(?::\d{1,5})?$/u

export class Authenticator {
  readonly #access: RemoteAccess
  /** The URL of the repository, without credentials. */
  readonly #url: URL
  readonly #patience: Patience
  readonly #secrets: Set<string> = new Set()
  #attempt = 0
  #current: Credentials | undefined
  /** Whether git supplied the current credentials, and must be told if they work. */
  #isFromGit = false

  constructor(access: RemoteAccess, url: URL, patience: Patience) {
    this.#access = access
    this.#url = url
    this.#patience = patience
  }

  /** All secrets used so far, in every form in which they may be echoed. */
  get secrets(): readonly string[] {
    return [...this.#secrets]
  }

  /** Why a token that is set is not for this host, as a clause; undefined if it is, or none is. */
  get withheld(): string | undefined {
    const { credentials, environment = {} } = this.#access
    return credentials === undefined ? whyWithheld(this.#url, environment) : undefined
  }

  /** The next credentials; undefined if there are no others. Rejects the previous ones. */
  async next(): Promise<Credentials | undefined> {
    if (this.#attempt > 0) await this.#informGit('reject')
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
    await this.#informGit('approve')
  }

  async #find(): Promise<Credentials | undefined> {
    const { credentials, environment = {} } = this.#access
    this.#isFromGit = false
    if (credentials !== undefined) {
      return credentials({ url: this.#url.href, attempt: this.#attempt })
    }
    const token = tokenFor(this.#url, environment)
    if (token !== undefined) return token
    this.#isFromGit = true
    return parseAnswer(await this.#git('fill'))
  }

  async #informGit(verb: 'approve' | 'reject'): Promise<void> {
    if (this.#isFromGit && this.#current !== undefined) await this.#git(verb, this.#current)
  }

  /** The output of `git credential`; empty if it fails, hangs, or git is not installed. */
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
      // A helper may be waiting for input.
      if (hasCode(error, 'remote_timeout')) return ''
      throw error
    }
  }
}

/**
 * The credentials of GITLOCKET_TOKEN: `token`, or `user:token` for hosts that need a user name.
 * Only for the one host that GITLOCKET_TOKEN_HOST names, and over https: otherwise, anyone who can
 * make a user sync with an address would get the token.
 */
function tokenFor(url: URL, environment: ProcessEnvironment): Credentials | undefined {
  const token = tokenIn(environment)
  if (token === '' || whyWithheld(url, environment) !== undefined) return undefined
  if (/\p{Cc}/u.test(token)) {
    throw new StoreError(
      'remote_auth',
      'GITLOCKET_TOKEN was not sent, as it holds a control character: set it to one line',
    )
  }
  const colon = token.indexOf(':')
  if (colon === -1) return { username: tokenUser, password: token }
  return { username: token.slice(0, colon), password: token.slice(colon + 1) }
}

/** Empty if it is not set. A token of several lines is refused: it holds control characters. */
function tokenIn({ GITLOCKET_TOKEN: text = '' }: ProcessEnvironment): string {
  return onlyLine(text) ?? text.trim()
}

/** Why a token that is set does not go there. Throws `remote_auth` if it is set for no host. */
function whyWithheld(url: URL, environment: ProcessEnvironment): string | undefined {
  const { GITLOCKET_TOKEN_HOST: host = '' } = environment
  const notSent = 'GITLOCKET_TOKEN was not sent, as'
  if (tokenIn(environment) === '') return undefined
  if (url.protocol !== 'https:') return `${notSent} it is only sent over https`
  if (hostOf(host) === url.host) return undefined
  return `${notSent} GITLOCKET_TOKEN_HOST names another host`
}

/** `host` or `host:port` as in a URL, without the default port. Throws `remote_auth`. */
function hostOf(text: string): string {
  const host = text.trim().toLowerCase()
  if (host === '') {
    throw tokenHostError('GITLOCKET_TOKEN is set without a host, so it was not sent: set')
  }
  const url = `https://${host}/`
  if (!hostForm.test(host) || !URL.canParse(url)) {
    throw tokenHostError(
      'GITLOCKET_TOKEN was not sent, as the name given for it is not a host: set',
    )
  }
  return new URL(url).host
}

function tokenHostError(problem: string): StoreError {
  const form = 'the host that issued the token, `host` or `host:port`'
  return new StoreError('remote_auth', `${problem} GITLOCKET_TOKEN_HOST to ${form}`)
}

/** Empty if the program fails. */
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
