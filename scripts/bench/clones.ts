// Two clones of one long history around a remote, each with its own identity, and the processes
// that sync them, so that a peak of memory is that of the sync alone.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  formatDeviceCard,
  formatIdentity,
  generateIdentity,
  type MemoryStore,
  openStore,
  parseIdentity,
} from 'gitlocket'
import type { Host } from './hosts.ts'
import { cleanEnvironment, run } from './machine.ts'
import { besideStore, type Site } from './site.ts'
import type { SyncAnswer, SyncCall, SyncCommand, SyncRequest } from './sync-child.ts'

const childModule = fileURLToPath(new URL('sync-child.js', import.meta.url))
/** Commands that wait together, and so share an fdatasync. */
const atOnce = 128
const author = { actor: { type: 'user', id: 'bench' } } as const

/** A closed store and the key to it. */
export interface Clone {
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
}

export function cloneOf({ history, identityFile }: Site): Clone {
  const { directory, stateDirectory } = history.places
  return { directory, stateDirectory, identityFile }
}

/** Enrols a second device, which has not joined yet. */
export async function secondClone(site: Site): Promise<Clone> {
  const root = besideStore(site, 'second')
  const identity = await generateIdentity()
  await withClone(cloneOf(site), (store) =>
    store.as(author).devices.add(formatDeviceCard(identity), 'writer'),
  )
  const identityFile = `${root}-identity`
  writeFileSync(identityFile, formatIdentity(identity), { mode: 0o600 })
  return { directory: root, stateDirectory: `${root}-state`, identityFile }
}

export function addRemote(clone: Clone, url: string): Promise<void> {
  return withClone(clone, (store) => store.remotes.add('origin', url))
}

/** One commit for each path. */
export function changeNotes(
  clone: Clone,
  paths: readonly string[],
  edit: (content: string) => string,
): Promise<void> {
  return withClone(clone, async (store) => {
    for (let done = 0; done < paths.length; done += atOnce) {
      const burst = paths.slice(done, done + atOnce)
      await Promise.all(
        burst.map((path) => store.as(author).apply([{ type: 'edit', path: `/${path}`, edit }])),
      )
    }
  })
}

export function syncClone(clone: Clone, host: Host): SyncAnswer {
  return runSync({ ...clone, access: accessTo(host) })
}

export function joinClone(clone: Clone, host: Host, url: string): SyncAnswer {
  return runSync({ ...clone, access: accessTo(host), join: url })
}

/** A process that keeps a clone open. */
export class OpenClone {
  readonly #child: ChildProcess
  readonly #ended: Promise<readonly never[]>

  constructor(clone: Clone, host: Host) {
    const request: SyncRequest = { ...clone, access: accessTo(host) }
    const env = cleanEnvironment(dirname(clone.directory))
    this.#child = fork(childModule, [JSON.stringify(request)], { env })
    this.#ended = once(this.#child, 'exit').then(() => [])
    process.on('exit', () => this.#child.kill())
  }

  async change(path: string, line: string): Promise<void> {
    await this.#tell({ type: 'change', path, line })
  }

  sync(): Promise<SyncCall> {
    return this.#tell({ type: 'sync' })
  }

  async close(): Promise<void> {
    this.#child.disconnect()
    await this.#ended
  }

  async #tell(command: SyncCommand): Promise<SyncCall> {
    const answered = once(this.#child, 'message')
    this.#child.send(command)
    const [call]: readonly SyncCall[] = await Promise.race([answered, this.#ended])
    if (call === undefined) throw new Error('A process of the bench has ended early')
    return call
  }
}

function accessTo({ authorities }: Host): SyncRequest['access'] {
  const environment = { PATH: process.env['PATH'] }
  return { environment, ...(authorities && { certificateAuthorities: authorities }) }
}

function runSync(request: SyncRequest): SyncAnswer {
  const cwd = dirname(request.directory)
  const output = run(process.execPath, [childModule, JSON.stringify(request)], { cwd })
  const answer: SyncAnswer = JSON.parse(output.toString())
  return answer
}

async function withClone<T>(
  { identityFile, ...places }: Clone,
  work: (store: MemoryStore) => Promise<T>,
): Promise<T> {
  const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
  const store = await openStore({ ...places, identity })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
