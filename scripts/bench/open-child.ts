// A process that opens a store, shows one memory, asks for one history, and says what that took:
// the parent cannot know what a fresh process needs. Started by sections/opens.ts.

import { readFileSync } from 'node:fs'

/** Given as JSON in the only argument. */
export interface OpenRequest {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
  readonly path: string
  /** Asks for this memory's versions after the view. */
  readonly memoryId?: string | undefined
}

/** Printed as JSON. Milliseconds since the process began, bytes. */
export interface OpenAnswer {
  readonly loaded: number
  readonly opened: number
  readonly viewed: number
  readonly rssMax: number
  readonly historyMs: number | undefined
}

async function answer(request: OpenRequest): Promise<OpenAnswer> {
  const { openStore, parseIdentity } = await import('gitlocket')
  const { memoryToolHandlers } = await import('gitlocket/anthropic')
  const loaded = performance.now()
  const identity = parseIdentity(readFileSync(request.identityFile, 'utf8'))
  const { directory, stateDirectory, memoryId } = request
  const store = await openStore({ directory, stateDirectory, identity })
  const opened = performance.now()
  const handlers = memoryToolHandlers(store, { session: 'bench' })
  await handlers.view({ command: 'view', path: `/memories/${request.path}` })
  const viewed = performance.now()
  const rssMax = peakMemory()
  if (memoryId !== undefined) await store.versions({ memoryId })
  const historyMs = memoryId === undefined ? undefined : performance.now() - viewed
  await store.close()
  return { loaded, opened, viewed, rssMax, historyMs }
}

/**
 * Bytes. What getrusage says begins with the memory of the process that started this one, so Linux
 * is asked for the peak of this program alone.
 */
function peakMemory(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024
  const status = readFileSync('/proc/self/status', 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

const request: OpenRequest = JSON.parse(process.argv[2] ?? '{}')
console.log(JSON.stringify(await answer(request)))
