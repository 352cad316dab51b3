// Serves fetches by stock git, for a server: `git upload-pack` in its stateless form, over a
// repository that this program made (git/disk-store/served-repository.ts). A request is checked
// here before git sees it. The child gets no setting of the user or the store, runs nothing that
// they name, and ends with the request that it serves. Processes are few, and stores take turns.

import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { StoreError } from '../errors.ts'
import { FairTurns, type TurnOwner } from '../fair-queue.ts'
import type { Oid } from '../git/objects/object.ts'
import { KIBIBYTE, MEBIBYTE } from '../limits.ts'
import { childEnvironment } from './git-settings.ts'
import { encodePacket } from './pkt-line.ts'
import { unconnected } from './process-wire.ts'
import type { ProcessEnvironment } from './remote-access.ts'

/** The most that a request may have, decompressed. */
const fetchRequestBytesMax = MEBIBYTE
/** No one pushes to these repositories: they have a few refs. */
const LIST_BYTES_MAX = MEBIBYTE

/** Processes at a time: of all stores, and of one. */
const RUNNING_MAX = 16
const RUNNING_PER_STORE_MAX = 4
/** Requests of one store that run or wait. */
const HELD_PER_STORE_MAX = 64
/** What git may take for one answer, and how long it waits for a client that stands still. */
const ANSWER_MS_MAX = 10 * 60_000
const STILL_SECONDS_MAX = 60
const LIST_MS_MAX = 30_000
const CHECK_MS = 1000
const KILL_MS = 1000

const settings: readonly string[] = [
  // This program has made the repository, even if the owners of its files look odd.
  'safe.directory=*',
  'core.hooksPath=/dev/null',
  'core.alternateRefsCommand=true',
  // Derived files next to the packs are not verified by git.
  'core.commitGraph=false',
  'core.multiPackIndex=false',
  'pack.useBitmaps=false',
  'pack.threads=1',
  // Sealed bytes have no likeness to look for.
  'pack.window=0',
  'gc.auto=0',
  'uploadpack.allowFilter=false',
]

const unsettled: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_ATTR_NOSYSTEM: '1',
}

/** A fetch that is under way. */
export interface ServedFetch {
  readonly owner: TurnOwner
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
  /** Asked now and then: whether it may go on. */
  readonly mayGoOn: () => Promise<boolean>
}

type Child = ChildProcessByStdio<Writable, Readable, null>

export class UploadPacks {
  readonly #environment: Readonly<Record<string, string>>
  readonly #turns = new FairTurns(RUNNING_MAX)
  readonly #stores = new Map<string, { readonly turns: FairTurns; held: number }>()

  constructor(environment: ProcessEnvironment | undefined) {
    this.#environment = { ...childEnvironment(environment), ...unconnected, ...unsettled }
  }

  /** Throws `unsupported_platform` without git. */
  async check(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      execFile('git', ['--version'], { env: this.#environment, cwd: '/' }, (error) => {
        if (error === null) resolve()
        else reject(noGit(error))
      })
    })
  }

  /** The list of refs as it is answered over http, header included. */
  list(directory: string): Promise<Uint8Array> {
    const [program = '', ...args] = commandFor(directory, ['--advertise-refs'])
    const how = { env: this.#environment, cwd: '/', timeout: LIST_MS_MAX }
    return new Promise((resolve, reject) => {
      const options = { ...how, encoding: 'buffer' as const, maxBuffer: LIST_BYTES_MAX }
      execFile(program, args, options, (error, stdout) => {
        if (error === null) resolve(Buffer.concat([Buffer.from(listHeader), stdout]))
        else reject(new StoreError('storage_failed', 'git could not list the refs'))
      })
    })
  }

  /**
   * The answer to a checked request. It ends early if the server closes, the fetch may not go on,
   * or takes too long. Throws `rate_limited`.
   */
  answer(
    directory: string,
    request: Uint8Array,
    fetch: ServedFetch,
  ): ReadableStream<Uint8Array<ArrayBuffer>> {
    const leave = this.#enter(fetch.owner.key)
    const cancelled = new AbortController()
    const signals = [cancelled.signal, fetch.closing, AbortSignal.timeout(ANSWER_MS_MAX)]
    const signal = AbortSignal.any(signals)
    const chunks = this.#chunks({ directory, request, fetch, cancelled }, signal, leave)
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(controller) {
          const { done, value } = await chunks.next()
          if (done === true) controller.close()
          else controller.enqueue(value)
        },
        cancel() {
          cancelled.abort()
          // It does not wait for the child. One that has not begun has nothing else to end.
          void chunks.return(undefined).then(leave, leave)
        },
      },
      { highWaterMark: 0 },
    )
  }

  #enter(key: string): () => void {
    const store = this.#stores.get(key) ?? { turns: new FairTurns(RUNNING_PER_STORE_MAX), held: 0 }
    if (store.held >= HELD_PER_STORE_MAX) {
      throw new StoreError('rate_limited', 'Too many fetches of this store at a time: wait a while')
    }
    store.held += 1
    this.#stores.set(key, store)
    let isHeld = true
    return () => {
      if (isHeld) store.held -= 1
      isHeld = false
      if (store.held === 0) this.#stores.delete(key)
    }
  }

  async *#chunks(
    { directory, request, fetch, cancelled }: RunningFetch,
    signal: AbortSignal,
    leave: () => void,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
    const ends: (() => void)[] = [leave]
    try {
      for (const turns of [this.#stores.get(fetch.owner.key)?.turns, this.#turns]) {
        if (turns !== undefined) ends.push(await turnIn(turns, fetch.owner))
      }
      if (signal.aborted) throw cutShort()
      const child = this.#start(directory)
      ends.push(endWith(child, signal))
      ends.push(watch(fetch, cancelled))
      child.stdin.end(request)
      for await (const chunk of child.stdout) yield chunk
      if (signal.aborted) throw cutShort()
    } finally {
      for (const end of ends.toReversed()) end()
    }
  }

  #start(directory: string): Child {
    const [program = '', ...args] = commandFor(directory, [`--timeout=${STILL_SECONDS_MAX}`])
    const how = { env: this.#environment, cwd: '/' }
    const child = spawn(program, args, { ...how, stdio: ['pipe', 'pipe', 'ignore'] })
    // A child that ends early closes its input; the end of its output tells.
    child.stdin.on('error', () => undefined)
    child.on('error', () => child.stdout.destroy())
    return child
  }
}

interface RunningFetch {
  readonly directory: string
  readonly request: Uint8Array
  readonly fetch: ServedFetch
  readonly cancelled: AbortController
}

const listHeader = '001e# service=git-upload-pack\n0000'

function commandFor(directory: string, options: readonly string[]): readonly string[] {
  const configured = settings.flatMap((setting) => ['-c', setting])
  const service = ['upload-pack', '--stateless-rpc', '--strict', ...options, directory]
  return ['git', ...configured, ...service]
}

function turnIn(turns: FairTurns, owner: TurnOwner): Promise<() => void> {
  return new Promise((begin) => {
    void turns.run(owner, () => new Promise<void>((end) => begin(end)))
  })
}

/** Kills the child by the signal, and when the result is called. */
function endWith(child: Child, signal: AbortSignal): () => void {
  const end = (): void => {
    child.stdout.destroy()
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), KILL_MS)
    child.once('close', () => clearTimeout(late))
  }
  signal.addEventListener('abort', end, { once: true })
  return () => {
    signal.removeEventListener('abort', end)
    end()
  }
}

/** Ends the fetch once it may not go on. */
function watch({ mayGoOn }: ServedFetch, cancelled: AbortController): () => void {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const lookLater = (): void => {
    if (!isOver) timer = setTimeout(look, CHECK_MS).unref()
  }
  const look = (): void => {
    mayGoOn().then(
      (may) => (may ? lookLater() : cancelled.abort()),
      () => cancelled.abort(),
    )
  }
  lookLater()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

function cutShort(): StoreError {
  return new StoreError('cancelled', 'The fetch was cut short')
}

function noGit(cause: unknown): StoreError {
  const problem = 'The program git is not installed, or not found: fetches are served by it'
  return new StoreError('invalid_input', problem, { cause })
}

export interface CheckedFetch {
  readonly request: Uint8Array
  readonly wants: readonly Oid[]
}

/**
 * The request as git gets it, decompressed. Throws `invalid_input` unless it is a list of wants and
 * haves (gitprotocol-pack, versions 0 and 1), and `request_too_large`.
 */
export function checkFetchRequest(body: Uint8Array, encoding: string | null): CheckedFetch {
  const request = inflated(body, encoding)
  const lines = linesOf(request)
  const section = lines.indexOf('')
  const wants = section === -1 ? lines : lines.slice(0, section)
  const rest = section === -1 ? [] : lines.slice(section)
  const isRight = wants.every((line) => isWant(line)) && rest.every((line) => isHave(line))
  if (lines.length === 0 || !isRight) throw malformed()
  if (wants.length > WANTS_MAX) throw malformed()
  const asked = wants.flatMap((line) => /^want ([0-9a-f]{40})/.exec(line)?.[1] ?? [])
  return { request, wants: asked }
}

/** As git answers to objects that it does not show. */
export function notOurRef(oid: Oid): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(encodePacket(`ERR upload-pack: not our ref ${oid}`))
}

/** Far more than the refs, and the commits at which a partial clone ends. */
const WANTS_MAX = 8192
const want = /^(?:want [0-9a-f]{40}(?: [\x20-\x7e]{0,1000})?|shallow [0-9a-f]{40})$/
const depth = /^(?:deepen \d{1,10}|deepen-since \d{1,15}|deepen-not [\x21-\x7e]{1,255})$/

function isWant(line: string): boolean {
  return want.test(line) || depth.test(line)
}

function isHave(line: string): boolean {
  return line === '' || line === 'done' || /^have [0-9a-f]{40}$/.test(line)
}

function inflated(body: Uint8Array, encoding: string | null): Uint8Array {
  if (encoding === null || encoding === 'identity') return body
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw new StoreError('invalid_input', 'A fetch may be compressed by gzip alone')
  }
  try {
    return gunzipSync(body, { maxOutputLength: fetchRequestBytesMax })
  } catch (error) {
    if (!(error instanceof RangeError)) throw malformed()
    const limit = fetchRequestBytesMax
    const problem = `A fetch has at most ${limit / KIBIBYTE} KiB, decompressed`
    throw new StoreError('request_too_large', problem, { details: { limit } })
  }
}

/** Without their newlines; an empty one for each flush packet. */
function linesOf(bytes: Uint8Array): readonly string[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const lines: string[] = []
  for (let at = 0; at < text.length;) {
    const digits = text.slice(at, at + 4)
    if (!/^[0-9a-f]{4}$/i.test(digits)) throw malformed()
    const length = Number.parseInt(digits, 16)
    if (length !== 0 && (length <= 4 || at + length > text.length)) throw malformed()
    lines.push(length === 0 ? '' : text.slice(at + 4, at + length).replace(/\n$/, ''))
    at += Math.max(4, length)
  }
  return lines
}

function malformed(): StoreError {
  return new StoreError(
    'invalid_input',
    'The body is not a fetch of git, in its protocol version 0',
  )
}
