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
import {
  commandLine,
  environmentOf,
  gitlocket,
  heading,
  type Machine,
  print,
  printCommand,
} from './programs.ts'

/** `npm start -- serve` */
const keepsRunning = argv.includes('serve')

export async function showServer(machine: Machine, store: MemoryStore): Promise<void> {
  heading('A server for the official SDK: the Memory Stores API, with a store for each agent')
  const places = [
    '--data',
    join(machine.root, 'server'),
    '--state',
    join(machine.root, 'server-state'),
  ]
  const created = gitlocket(machine, ['api-key', 'create', '--json', ...places], 0)
  const { token }: { readonly token: string } = JSON.parse(created)
  printCommand(['gitlocket', 'serve', '--port', '0'])
  const child = spawn(execPath, [commandLine, 'serve', '--port', '0', ...places], {
    cwd: machine.root,
    env: environmentOf(machine),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'exit')
  try {
    const baseURL = await addressOf(child.stdout, ended)
    print(`  Serving on ${baseURL}`)
    await useSdk(new Anthropic({ apiKey: token, baseURL }), store)
    if (keepsRunning) await untilInterrupted(baseURL, token)
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

/** From the line that the server prints when it is ready. */
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
  print('> for await (const memory of client.beta.memoryStores.memories.list(id)) …')
  for await (const memory of memoryStores.memories.list(id)) print(`  ${memory.path}`)
}

async function untilInterrupted(baseURL: string, token: string): Promise<void> {
  print(`\nThe server runs until Ctrl-C. A client needs these two:`)
  print(`  export ANTHROPIC_BASE_URL=${baseURL}`)
  print(`  export ANTHROPIC_API_KEY=${token}`)
  await once(process, 'SIGINT')
}
