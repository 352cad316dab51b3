// A process that opens a store, shows one memory, and prints its time and memory, which the parent
// cannot measure for a fresh process. Started by sections/opens.ts.

import { readFileSync } from 'node:fs'
import { peakMemory } from './peak-memory.ts'

/** Given as JSON in the only argument. */
export interface OpenRequest {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
  readonly path: string
}

/** Printed as JSON. Milliseconds since the process began, bytes. */
export interface OpenAnswer {
  readonly loaded: number
  readonly opened: number
  readonly viewed: number
  readonly rssMax: number
}

async function answer(request: OpenRequest): Promise<OpenAnswer> {
  const { openStore, parseIdentity } = await import('gitlocket')
  const { memoryToolHandlers } = await import('gitlocket/anthropic')
  const loaded = performance.now()
  const identity = await parseIdentity(readFileSync(request.identityFile, 'utf8'))
  const { directory, stateDirectory } = request
  const store = await openStore({ directory, stateDirectory, identity })
  const opened = performance.now()
  const handlers = memoryToolHandlers(store, { session: 'bench' })
  await handlers.view({ command: 'view', path: `/memories/${request.path}` })
  const viewed = performance.now()
  const rssMax = peakMemory()
  await store.close()
  return { loaded, opened, viewed, rssMax }
}

const request: OpenRequest = JSON.parse(process.argv[2] ?? '{}')
console.log(JSON.stringify(await answer(request)))
