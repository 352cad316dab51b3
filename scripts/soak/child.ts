// A process that keeps a clone open and answers requests concurrently until it is killed. Started
// by clone.ts.

import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { argv } from 'node:process'
import { type MemoryStore, openStore, parseIdentity, StoreError } from 'gitlocket'
import { type MemoryToolHandlers, memoryToolHandlers } from 'gitlocket/anthropic'

/** Given as JSON in the only argument. */
export interface ClonePlace {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
}

export type Request =
  /** Puts the line at the start of a memory, which is created if it is missing. */
  | { readonly type: 'write'; readonly path: string; readonly line: string }
  | { readonly type: 'replace'; readonly path: string; readonly from: string; readonly to: string }
  | { readonly type: 'rename'; readonly from: string; readonly to: string }
  | { readonly type: 'view'; readonly path: string }
  | { readonly type: 'versions' }
  | { readonly type: 'sync' }
  /** Erases every version with this text. */
  | { readonly type: 'redact'; readonly text: string }
  /** The answer is every line of every memory. */
  | { readonly type: 'lines' }
  /** Verifies everything and searches for the redacted text; the answer is a `Proof` as JSON. */
  | { readonly type: 'prove'; readonly text: string }
  | { readonly type: 'close' }

export interface Proof {
  readonly head: string
  readonly versions: number
  /** Versions that a redaction should have erased and that still exist. */
  readonly residues: number
}

export interface Ask {
  readonly id: number
  readonly request: Request
}

export type Message =
  | { readonly type: 'open' }
  /** Bytes, and the longest block of the event loop since the last pulse in milliseconds. */
  | { readonly type: 'pulse'; readonly rss: number; readonly stall: number }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  /** `code` of a StoreError, undefined for another failure. */
  | {
      readonly type: 'failed'
      readonly id: number
      readonly code: string | undefined
      readonly text: string
    }

const author = { actor: { type: 'user', id: 'soak' } } as const
/** Milliseconds; the first is the delay of an idle event loop. */
const [resolution, pulseMs] = [5, 1000]

async function serve({ identityFile, ...places }: ClonePlace): Promise<void> {
  const delays = monitorEventLoopDelay({ resolution })
  delays.enable()
  const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
  const store = await openStore({ ...places, identity })
  const handlers = memoryToolHandlers(store, { session: 'soak' })
  process.on('disconnect', () => process.exit(1))
  process.on('message', ({ id, request }: Ask) => {
    answer(store, handlers, request).then(
      (value) => send({ type: 'answer', id, value }),
      (error: unknown) => {
        const code = error instanceof StoreError ? error.code : undefined
        send({ type: 'failed', id, code, text: String(error) })
      },
    )
  })
  setInterval(() => {
    send({ type: 'pulse', rss: process.memoryUsage().rss, stall: delays.max / 1e6 - resolution })
    delays.reset()
  }, pulseMs).unref()
  send({ type: 'open' })
}

function send(message: Message): void {
  process.send?.(message)
}

async function answer(
  store: MemoryStore,
  handlers: MemoryToolHandlers,
  request: Request,
): Promise<unknown> {
  switch (request.type) {
    case 'write':
      return write(handlers, `/memories${request.path}`, `${request.line}\n`)
    case 'replace': {
      const [path, old_str, new_str] = [`/memories${request.path}`, request.from, request.to]
      return handlers.str_replace({ command: 'str_replace', path, old_str, new_str })
    }
    case 'rename': {
      const [old_path, new_path] = [`/memories${request.from}`, `/memories${request.to}`]
      return handlers.rename({ command: 'rename', old_path, new_path })
    }
    case 'view':
      return handlers.view({ command: 'view', path: `/memories${request.path}` })
    case 'versions':
      return (await store.history.versions({ limit: 20 })).data.length
    case 'sync':
      return (await store.as(author).sync()).head
    case 'redact':
      await store.as(author).redact(redaction(request.text))
      return undefined
    case 'lines':
      return linesOf(store)
    case 'prove':
      return JSON.stringify(await prove(store, request.text))
    case 'close':
    default:
      return store.close()
  }
}

async function write(handlers: MemoryToolHandlers, path: string, text: string): Promise<unknown> {
  const insert = { command: 'insert', path, insert_line: 0, insert_text: text } as const
  try {
    return await handlers.insert(insert)
  } catch {
    return handlers.create({ command: 'create', path, file_text: text })
  }
}

async function linesOf(store: MemoryStore): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const { content = '' } of store.memories({ view: 'full' })) {
    lines.push(...content.split('\n').filter((line) => line !== ''))
  }
  return lines
}

function redaction(text: string) {
  return { select: { matching: new RegExp(text) }, reason: 'leaked_secret' } as const
}

async function prove(store: MemoryStore, text: string): Promise<Proof> {
  const { head, versions } = await store.maintenance.verify()
  const { found } = await store.maintenance.findResidue()
  const { versions: left } = await store.history.planRedaction(redaction(text))
  return { head, versions, residues: found.length + left.length }
}

await serve(JSON.parse(argv[2] ?? '{}'))
