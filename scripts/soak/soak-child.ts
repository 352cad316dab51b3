// A process that keeps a clone open and answers requests concurrently until it is killed. Started
// by clone.ts.

import { readFileSync } from 'node:fs'
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { type MemoryStore, openStore, parseIdentity, StoreError } from 'gitlocket'
import { type MemoryToolHandlers, memoryToolHandlers } from 'gitlocket/anthropic'
import type { Ask, Message, Proof, Pulse, Request, ToolCommand } from './message.ts'
import { hashOf } from './text-hash.ts'

/** Given as JSON in the only argument. */
export interface ClonePlace {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
}

const author = { actor: { type: 'user', id: 'soak' } } as const
/** The delay of an idle event loop, ms. */
const resolution = 5
const pulseMs = 1000

async function serve({ identityFile, ...places }: ClonePlace): Promise<void> {
  const lastSecond = monitorEventLoopDelay({ resolution })
  const total = monitorEventLoopDelay({ resolution })
  lastSecond.enable()
  total.enable()
  const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
  const store = await openStore({ ...places, identity })
  const handlers = memoryToolHandlers(store, { session: 'soak' })
  process.on('disconnect', () => process.exit(1))
  process.on('message', ({ id, request }: Ask) => {
    answer(store, handlers, request).then(
      (value) => send({ type: 'answer', id, value }),
      (error: unknown) => send({ type: 'failed', id, ...describe(error) }),
    )
  })
  setInterval(() => send({ type: 'pulse', pulse: pulseOf(lastSecond, total) }), pulseMs).unref()
  send({ type: 'open' })
}

function send(message: Message): void {
  process.send?.(message)
}

function describe(error: unknown): Omit<Extract<Message, { type: 'failed' }>, 'type' | 'id'> {
  const code = error instanceof StoreError ? error.code : undefined
  const details = error instanceof StoreError ? ` ${JSON.stringify(error.details)}` : ''
  const text = error instanceof Error ? `${error.message}${details}` : String(error)
  return { code, text }
}

function pulseOf(lastSecond: IntervalHistogram, total: IntervalHistogram): Pulse {
  const { rss, heapUsed: heap } = process.memoryUsage()
  const stallMax = lastSecond.max / 1e6 - resolution
  lastSecond.reset()
  return { rss, heap, stallMax, stallUsual: total.percentile(99.9) / 1e6 - resolution }
}

async function answer(
  store: MemoryStore,
  handlers: MemoryToolHandlers,
  request: Request,
): Promise<unknown> {
  switch (request.type) {
    case 'tool':
      return call(handlers, request.input)
    case 'versions':
      return (await store.history.versions({ path: request.path, limit: 20 })).data.length
    case 'sync':
      return (await store.as(author).sync()).head
    case 'redact':
      return redact(store, request.text)
    case 'contents':
      return contentsOf(store)
    case 'read':
      return (await store.read(request.path))?.content
    case 'prove':
      return prove(store, request.text)
    case 'close':
      return store.close()
    default:
      throw new TypeError('There is no such request')
  }
}

function call(handlers: MemoryToolHandlers, input: ToolCommand): Promise<unknown> {
  switch (input.command) {
    case 'view':
      return Promise.resolve(handlers.view(input))
    case 'create':
      return Promise.resolve(handlers.create(input))
    case 'str_replace':
      return Promise.resolve(handlers.str_replace(input))
    case 'insert':
      return Promise.resolve(handlers.insert(input))
    case 'delete':
      return Promise.resolve(handlers.delete(input))
    case 'rename':
      return Promise.resolve(handlers.rename(input))
    default:
      throw new TypeError('There is no such command')
  }
}

async function redact(store: MemoryStore, text: string): Promise<number> {
  const request = { select: { matching: new RegExp(text) }, reason: 'leaked_secret' } as const
  const { plan } = await store.as(author).redact(request)
  return plan.versions.length
}

async function contentsOf(store: MemoryStore): Promise<readonly [path: string, hash: string][]> {
  const found: [string, string][] = []
  const waiting = [await store.list('/')]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    waiting.push(...node.children)
    if (node.type !== 'file') continue
    const memory = await store.read(node.path)
    found.push([node.path, hashOf(memory?.content ?? '')])
  }
  return found
}

async function prove(store: MemoryStore, text: string): Promise<Proof> {
  const { head, versions } = await store.maintenance.verify()
  const { found } = await store.maintenance.findResidue()
  const select = { matching: new RegExp(text) }
  const { versions: left } = await store.history.planRedaction({ select, reason: 'leaked_secret' })
  return { head, versions, residues: found.length + left.length }
}

await serve(JSON.parse(process.argv[2] ?? '{}'))
