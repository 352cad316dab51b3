// A Unix socket that shows whether the process that made it still runs: the listener ends with the
// process, however it ends. The kernel accepts connections even for a stopped or busy process, and
// a socket, unlike a process id, means the same in every container. Must report only what is
// certain, and must never keep a process running.

import { chmodSync, closeSync, constants, openSync } from 'node:fs'
import type { Server, Socket } from 'node:net'

const { O_RDONLY, O_DIRECTORY } = constants

export interface Listener {
  close(): void
}

/** 'unknown': neither of the others can be shown. */
export type Life = 'living' | 'ended' | 'unknown'

/** The longest socket path that every platform accepts; Node truncates longer ones. */
const pathBytesMax = 103

/**
 * Listens at `path`, which must not exist. Undefined where that fails: a file system without
 * sockets, a path that is too long, no free descriptor.
 */
export async function listenAt(path: string): Promise<Listener | undefined> {
  const { createServer } = await import('node:net')
  const server = createServer((caller) => caller.destroy())
  try {
    await withShortPath(path, (short) => listening(server, short))
    chmodSync(path, 0o600)
  } catch {
    server.close()
    return undefined
  }
  server.on('error', () => undefined)
  server.unref()
  return { close: () => server.close() }
}

export async function askAt(path: string): Promise<Life | undefined> {
  try {
    const call = await withShortPath(path, connected)
    call.destroy()
    return 'living'
  } catch (error) {
    const errno = error instanceof Error && 'code' in error ? error.code : undefined
    if (errno === 'ENOENT') return undefined
    if (errno === 'ECONNREFUSED') return 'ended'
    // The backlog is full, so the process has not ended.
    return errno === 'EAGAIN' ? 'living' : 'unknown'
  }
}

/** Whether the process itself accepts a connection within `ms`; a stopped process does not. */
export async function answersAt(path: string, ms: number): Promise<boolean> {
  try {
    const call = await withShortPath(path, connected)
    return await new Promise((resolve) => {
      const end = (answered: boolean): void => {
        clearTimeout(timer)
        call.destroy()
        resolve(answered)
      }
      const timer = setTimeout(() => end(false), ms)
      call.once('close', () => end(true)).resume()
    })
  } catch {
    return false
  }
}

/** `exclusive`: in a cluster, the parent process would listen otherwise. */
function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path, exclusive: true }, resolve)
  })
}

async function connected(path: string): Promise<Socket> {
  const { connect } = await import('node:net')
  return new Promise((resolve, reject) => {
    const call = connect(path)
    call.once('connect', () => resolve(call))
    // Kept after the connection: a listener that ends just then resets it.
    call.on('error', reject)
  })
}

/** Shortens a path that is too long by a descriptor of its directory, which works on Linux. */
async function withShortPath<T>(path: string, work: (path: string) => Promise<T>): Promise<T> {
  if (Buffer.byteLength(path) <= pathBytesMax) return work(path)
  const slash = path.lastIndexOf('/')
  const directory = openSync(path.slice(0, slash), O_RDONLY | O_DIRECTORY)
  try {
    return await work(`/proc/self/fd/${directory}${path.slice(slash)}`)
  } finally {
    closeSync(directory)
  }
}
