// The last part of the tour: the server on a free port, as a process of its own, and the official
// SDK as its client, which stores and lists what the agent remembered.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process, { argv, execPath } from 'node:process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import Anthropic from '@anthropic-ai/sdk'
import type { MemoryStore } from 'gitlocket'
import { childEnvironment, type Place } from './place.ts'
import { askCommand, commandLine } from './programs.ts'
import { heading, print, printCommand, style } from './screen.ts'

/** `npm start -- serve` */
const keepsRunning = argv.includes('serve')
const shownMax = 4

export async function showServer(place: Place, store: MemoryStore): Promise<void> {
  heading('A server for the official SDK: the Memory Stores API, with a store for each agent')
  const places = ['--data', join(place.root, 'server'), '--state', join(place.root, 'server-state')]
  const { token } = askCommand(place, ['api-key', 'create', ...places])
  printCommand(['gitlocket', 'serve', '--port', '0'])
  const child = spawn(execPath, [commandLine, 'serve', '--port', '0', ...places], {
    cwd: place.root,
    env: childEnvironment(place),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'exit')
  try {
    const baseURL = await addressOf(child.stdout, ended)
    print(`  Serving on ${baseURL}`)
    await useSdk(new Anthropic({ apiKey: String(token), baseURL }), store)
    if (keepsRunning) await untilInterrupted(baseURL, String(token))
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

/** What the server says when it is ready. */
async function addressOf(output: Readable, ended: Promise<unknown>): Promise<string> {
  const ready = once(createInterface(output), 'line')
  const line = await Promise.race([ready.then(String), ended.then(() => '')])
  const [address] = /https?:\/\/\S+/.exec(line) ?? []
  if (address === undefined) throw new Error('The server did not start')
  return address
}

async function useSdk(client: Anthropic, store: MemoryStore): Promise<void> {
  const { memoryStores } = client.beta
  const { id } = await memoryStores.create({ name: 'tour' })
  for await (const { path, content = '' } of store.memories({ view: 'full' })) {
    await memoryStores.memories.create(id, { path, content })
  }
  print(style('bold', '> for await (const memory of client.beta.memoryStores.memories.list(id)) …'))
  const paths: string[] = []
  for await (const memory of memoryStores.memories.list(id)) paths.push(memory.path)
  for (const path of paths.slice(0, shownMax)) print(`  ${path}`)
  print(style('dim', `  … ${paths.length - shownMax} more, each sealed on the disk of the server`))
}

async function untilInterrupted(baseURL: string, token: string): Promise<void> {
  print(`\nThe server runs until Ctrl-C. A client needs these two:`)
  print(`  export ANTHROPIC_BASE_URL=${baseURL}`)
  print(`  export ANTHROPIC_API_KEY=${token}`)
  await once(process, 'SIGINT')
}
