// Cloudflare's runtime, as the npm package `workerd` has it, with the Worker of worker.mjs. Ended
// with the test.

import { spawn } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { temporaryDirectory } from './temporary.ts'
import { requires } from './tools.ts'

export const workerd = requires('workerd')

const [built = '', worker = ''] = ['../../dist/web', 'worker.mjs'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
)

/** Returns its address. It finds the bundle of this directory as `gitlocket/web`. */
export async function startWorker(bundle: string = built): Promise<string> {
  const config = join(temporaryDirectory(), 'config.capnp')
  writeFileSync(config, configOf({ 'worker.mjs': worker, ...modulesOf(bundle) }))
  const words = ['serve', '--import-path=/', '--control-fd=3', config]
  const child = spawn('workerd', words, { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  }
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const listening = new Promise<number>((resolve) => {
    child.stdio[3]?.on('data', (chunk: Buffer) => resolve(JSON.parse(chunk.toString()).port))
  })
  const failed = ended.then(() => Promise.reject(new Error(`workerd did not start: ${said}`)))
  return `http://127.0.0.1:${await Promise.race([listening, failed])}/`
}

/** The names that modules have for each other, as a bundler for Workers gives them. */
function modulesOf(bundle: string): Record<string, string> {
  const files = readdirSync(bundle).filter((name) => /\.(?:js|wasm)$/.test(name))
  const modules = files.map((name) => [`gitlocket/${name}`, join(bundle, name)])
  return { ...Object.fromEntries(modules), 'gitlocket/web': join(bundle, 'workerd.js') }
}

function configOf(modules: Readonly<Record<string, string>>): string {
  const parts = Object.entries(modules).map(([name, file]) => {
    const kind = name.endsWith('.wasm') ? 'wasm' : 'esModule'
    return `(name = ${JSON.stringify(name)}, ${kind} = embed ${JSON.stringify(file)})`
  })
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [${parts.join(',\n')}],
  compatibilityDate = "2026-04-01",
  bindings = [(name = "HOLDER", durableObjectNamespace = "Holder")],
  durableObjectNamespaces = [(className = "Holder", uniqueKey = "holder")],
  durableObjectStorage = (inMemory = void),
);
`
}

type Step = readonly [name: string, value?: unknown]

/** Has a Worker take steps, and returns the results. */
export async function takeSteps(
  address: string,
  ...steps: readonly Step[]
): Promise<readonly unknown[]> {
  const response = await fetch(address, { method: 'POST', body: JSON.stringify(steps) })
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return JSON.parse(text)
}
