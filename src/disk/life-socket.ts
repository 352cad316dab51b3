// A Unix socket that tells whether who made it still lives: its listener ends with the process,
// however that ends, and with nothing else. The kernel takes a call also for a process that is
// stopped or busy. Unlike a process id it means the same in every container. Must say nothing that
// is in doubt, and must never keep a process running.

import { chmodSync, closeSync, openSync } from 'node:fs'
import type { Server, Socket } from 'node:net'

export interface Listener {
  close(): void
}

/** 'unknown': neither can be shown. */
export type Life = 'living' | 'ended' | 'unknown'

/** Bytes of a path that every platform takes for a socket; what is longer, Node cuts off. */
const pathBytesMax = 103

/**
 * Listens at `path`, where there is nothing yet. Undefined where that cannot be: a file system
 * without sockets, a path that is too long, no descriptor left.
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

/** Undefined if there is no file at `path`. */
export async function askAt(path: string): Promise<Life | undefined> {
  try {
    const call = await withShortPath(path, connected)
    call.destroy()
    return 'living'
  } catch (error) {
    const errno = error instanceof Error && 'code' in error ? error.code : undefined
    if (errno === 'ENOENT') return undefined
    if (errno === 'ECONNREFUSED') return 'ended'
    // So many calls wait that the kernel takes no more.
    return errno === 'EAGAIN' ? 'living' : 'unknown'
  }
}

/** Whether the process itself takes a call within `ms`: one that is stopped does not. */
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

/** Not shared with the processes of a cluster, whose parent would listen for them. */
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
    // Also after that: a listener that ends just then resets the call.
    call.on('error', reject)
  })
}

/** Goes through a descriptor of the directory where the path is too long: Linux has that. */
async function withShortPath<T>(path: string, work: (path: string) => Promise<T>): Promise<T> {
  if (Buffer.byteLength(path) <= pathBytesMax) return work(path)
  const slash = path.lastIndexOf('/')
  const directory = openSync(path.slice(0, slash), 'r')
  try {
    return await work(`/proc/self/fd/${directory}${path.slice(slash)}`)
  } finally {
    closeSync(directory)
  }
}
