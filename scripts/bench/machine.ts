// The machine of the bench: its description, a scratch directory on a real disk, other programs.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const tmpfsMagic = 0x01021994

/** What the package installs as `gitlocket`. */
export const commandLine: string = fileURLToPath(
  new URL('src/bin/gitlocket.cjs', import.meta.resolve('gitlocket/package.json')),
)

/** A new directory that is removed when the process ends. Throws on a file system in RAM. */
export function scratchDirectory(parent: string = tmpdir()): string {
  if (statfsSync(parent).type === tmpfsMagic) {
    throw new TypeError(`${parent} is in RAM: give --directory on the disk to be measured`)
  }
  const directory = mkdtempSync(join(parent, 'gitlocket-bench-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
  return directory
}

/** With the load before the bench adds its own, since a busy machine spoils everything else. */
export function describeMachine(): string {
  const git = findVersion('git') ?? 'no git'
  const cores = availableParallelism()
  const program = `Node ${process.version}, ${git}, ${process.platform}`
  return `${cores} cores under a load of ${loadBefore.toFixed(1)}, ${program}`
}

const [loadBefore = 0] = loadavg()

/** The first line of `<program> --version`; undefined if there is no such program. */
export function findVersion(program: string): string | undefined {
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return status === 0 ? stdout.split('\n')[0] : undefined
}

export interface RunOptions {
  readonly cwd: string
  readonly input?: string | Uint8Array
  readonly env?: NodeJS.ProcessEnv
}

/** Standard output of a program in a clean environment. Throws if it fails. */
export function run(program: string, args: readonly string[], options: RunOptions): Buffer {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    ...options,
    env: { ...cleanEnvironment(options.cwd), ...options.env },
    maxBuffer: 1024 ** 3,
  })
  if (status === 0) return stdout
  throw new Error(`${program} ${args[0] ?? ''} failed: ${error?.message ?? stderr.toString()}`)
}

/** No configuration of the machine or the user, no prompts. */
export function cleanEnvironment(home: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: home,
    LC_ALL: 'C',
    TZ: 'UTC',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'Bench',
    GIT_AUTHOR_EMAIL: 'bench@localhost',
    GIT_COMMITTER_NAME: 'Bench',
    GIT_COMMITTER_EMAIL: 'bench@localhost',
  }
}

/** Of the loopback interface. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const closed = once(server, 'close')
  server.close()
  await closed
  if (typeof address === 'object' && address !== null) return address.port
  throw new Error('There is no free port')
}
