// What tests of broken and hostile remotes share: a history, a repository that has it, one that has
// nothing, and ways of looking at how an exchange fails.

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, vi } from 'vitest'
import { StoreError } from '../../src/errors.ts'
import { createMemoryObjectStore } from '../../src/git/memory-store/memory-object-store.ts'
import type { RemoteAccess } from '../../src/transport/remote-access.ts'
import { type Fault, type GitServer, startGitServer } from './git-server.ts'
import { bareRepository } from './pack-fixtures.ts'
import { cleanEnvironment, sharedDirectory, temporaryDirectory } from './temporary.ts'
import { fetchPack, pushPack } from './transfer.ts'
import { TestHistory } from './transitions.ts'

export const environment: NodeJS.ProcessEnv = cleanEnvironment()
const history = new TestHistory(41)
const transitions = history.take(3)
/** The newest commit of the history. */
export const head: string = history.head ?? ''
const oids = transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
const source = createMemoryObjectStore()
let isFilled = false

/** One that has the history already, and one that has nothing. No test may change them. */
export function sharedRemotes(): { readonly repository: string; readonly empty: string } {
  const repository = join(sharedDirectory(), 'full.git')
  const empty = join(sharedDirectory(), 'empty.git')
  beforeAll(async () => {
    for (const path of [repository, empty]) makeBare(path)
    // Once, by the first of the files that share this module.
    if (!isFilled) await source.exclusive(() => source.commit(transitions))
    isFilled = true
    await push({ url: repository, environment })
  })
  return { repository, empty }
}

export function makeBare(path: string): string {
  mkdirSync(path)
  bareRepository(path)
  return path
}

/** The whole history, to an empty remote. */
export async function push(access: RemoteAccess): Promise<void> {
  const pack = await source.exchange.pack(oids)
  await pushPack(access, { expected: undefined, next: head, pack })
}

/** The whole history, into memory. */
export function fetchFrom(access: RemoteAccess): Promise<unknown> {
  const { exchange } = createMemoryObjectStore()
  return fetchPack(access, { want: head, haves: [], into: exchange })
}

/** Against a repository, with one fault. */
export async function withFault(
  repository: string,
  fault?: Fault,
): Promise<{ readonly server: GitServer; readonly access: RemoteAccess }> {
  const server = await startGitServer({ repository, ...(fault && { fault }) })
  return { server, access: { url: server.url, environment } }
}

export async function failureOf(work: Promise<unknown>): Promise<StoreError> {
  try {
    await work
  } catch (error) {
    if (error instanceof StoreError) return error
    throw error
  }
  throw new Error('It did not fail')
}

/**
 * What work fails with under a fault. A client that has to give up the host sees no time pass until
 * the fault begins, so that no honest answer is too slow, and then half a minute at a time.
 */
export async function failureUnder(
  server: GitServer,
  [code, fault]: readonly [code: string, Fault],
  work: () => Promise<unknown>,
): Promise<StoreError> {
  const flies = code === 'remote_timeout'
  let flying: NodeJS.Timeout | undefined
  server.fault = async (request, response) => {
    if (!(await fault(request, response))) return false
    if (flies) flying ??= setInterval(() => vi.advanceTimersByTime(30_000), 10)
    return true
  }
  if (flies) vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  try {
    return await failureOf(work())
  } finally {
    clearInterval(flying)
    if (flies) vi.useRealTimers()
    server.fault = undefined
  }
}

/** What work fails with that gives up a program: no time passes for it until this holds. */
export async function failureOnce(
  holds: () => boolean,
  work: () => Promise<unknown>,
): Promise<StoreError> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const flying = setInterval(() => holds() && vi.advanceTimersByTime(30_000), 10)
  try {
    return await failureOf(work())
  } finally {
    clearInterval(flying)
    vi.useRealTimers()
  }
}

/** Whether a program has written a line to this file. */
export function isWritten(path: string): boolean {
  return existsSync(path) && readFileSync(path, 'utf8').endsWith('\n')
}

/** A shell script; its path. */
export function program(script: string): string {
  const path = join(temporaryDirectory(), 'program')
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}
