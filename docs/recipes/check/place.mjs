// Where a recipe runs: an empty home directory, the commands that its reader would type there, and
// processes that end with this one, whatever becomes of it.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const recipes = dirname(dirname(fileURLToPath(import.meta.url)))
const running = new Set()
const homes = []

process.on('exit', () => {
  for (const { pid } of running) stop(pid, 'SIGKILL')
  for (const home of homes) rmSync(home, { recursive: true, force: true })
})
// A recipe that does not come to an end is broken.
const limitMs = 5 * 60_000
setTimeout(() => {
  console.error('It took longer than five minutes')
  process.exit(1)
}, limitMs).unref()
// By default a signal ends this process without the above.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))

/** An empty home, with the variables of a recipe that runs there. */
export function makePlace(folder, variables = {}) {
  const home = mkdtempSync(join(tmpdir(), 'gitlocket-recipe-'))
  homes.push(home)
  const env = { PATH: process.env.PATH, HOME: home, NEXT_TELEMETRY_DISABLED: '1', ...variables }
  return { home, env, cwd: join(recipes, folder) }
}

/** Runs a program of node to its end, and gives what it printed. It has to succeed. */
export async function run(place, words) {
  const child = start(place, words)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), child.ended])
  assert.equal(child.exitCode, 0, `${words.join(' ')}: ${stdout}${stderr}`)
  return { stdout, stderr }
}

/** Runs a command of gitlocket. */
export async function gitlocket(place, words, variables = {}) {
  const program = join(recipes, 'node_modules/gitlocket/src/bin/gitlocket.cjs')
  return run({ ...place, env: { ...place.env, ...variables } }, [program, ...words])
}

/** Starts a program of node, in a group of processes of its own. */
export function start({ cwd, env }, words) {
  const stdio = ['ignore', 'pipe', 'pipe']
  const child = spawn(process.execPath, words, { cwd, env, stdio, detached: true })
  running.add(child)
  child.ended = once(child, 'exit').finally(() => running.delete(child))
  child.stdout.setEncoding('utf8')
  return child
}

/** Ends a program as an operator would. */
export async function end(child) {
  stop(child.pid, 'SIGTERM')
  await child.ended
}

/** What a program prints, up to the first match. */
export async function printed(child, pattern) {
  let said = ''
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    said += chunk
    const found = pattern.exec(said)
    if (found !== null) {
      child.stdout.resume()
      return found
    }
  }
  return assert.fail(`It ended, and printed: ${said}${await text(child.stderr)}`)
}

/** The whole group. It may have ended. */
function stop(pid, signal) {
  try {
    process.kill(-pid, signal)
  } catch {}
}
