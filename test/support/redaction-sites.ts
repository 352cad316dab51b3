// Stores for tests of redactions next to other processes: with a history, two devices, caches of
// both, and versions that hold secrets.

import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import {
  type Author,
  createStore,
  formatIdentity,
  generateIdentity,
  type Identity,
  type MemoryStore,
  openStore,
} from '../../src/index.ts'
import { full } from './seed.ts'
import { copyDirectory, directoryOfProcess, temporaryDirectory } from './temporary.ts'

const program = fileURLToPath(new URL('./redaction-process.mjs', import.meta.url))
export const author: Author = { actor: { type: 'user', id: 'officer' } }
export const reason = 'leaked_secret' as const
/** Enough commits for a cache file of the history, and for reading it in more than one turn. */
const long = 520
/** Where another process is what matters. */
export const short: number = full ? long : 30

/** Where each of its reads is what matters. */
export const few = 30

const templates = new Map<number, ReturnType<typeof makeTemplate>>()
const roots = new Map([long, short, few].map((length) => [length, directoryOfProcess()]))

export interface Device {
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
  readonly identityFile: string
}

export interface Site {
  readonly first: Device
  readonly second: Device
  /** Closed versions that hold secrets, one per memory. */
  readonly secrets: readonly string[]
  /** One more, at the very beginning. */
  readonly deep: string
}

/** A copy of one that is made once: with a history, two devices, and caches of both. */
export async function newSite(count: number, length: number = long): Promise<Site> {
  const template = templates.get(length) ?? makeTemplate(length)
  templates.set(length, template)
  const { first, second, deep, root } = await template
  const copy = temporaryDirectory()
  copyDirectory(root, copy)
  const site = { first: moved(first, root, copy), second: moved(second, root, copy) }
  return { ...site, deep, secrets: await writeSecrets(site.first, '/m', count) }
}

async function makeTemplate(
  length: number,
): Promise<Omit<Site, 'secrets'> & { readonly root: string }> {
  const root = roots.get(length) ?? ''
  const [first, second] = [await newDevice(root, 'one'), await newDevice(root, 'two')]
  const { store, recoveryKey } = await createStore(first)
  const [deep = ''] = await makeSecrets(store, '/deep', 1)
  await store.as(author).apply([{ type: 'create', path: '/filler.md', content: '' }])
  const edits = Array.from({ length }, (_, n) => {
    return store.as(author).apply([{ type: 'edit', path: '/filler.md', edit: () => `${n}\n` }])
  })
  await Promise.all(edits)
  await store.close()
  await (await openStore({ ...second, recoveryKey })).close()
  return { first, second, deep, root }
}

function moved(device: Device, from: string, to: string): Device {
  const move = (path: string): string => to + path.slice(from.length)
  const { identity, directory, stateDirectory, identityFile } = device
  const places = { directory: move(directory), stateDirectory: move(stateDirectory) }
  return { identity, ...places, identityFile: move(identityFile) }
}

async function newDevice(root: string, name: string): Promise<Device> {
  const identity = await generateIdentity()
  const identityFile = `${root}/identity-${name}`
  writeFileSync(identityFile, formatIdentity(identity), { mode: 0o600 })
  const stateDirectory = `${root}/state-${name}`
  return { directory: `${root}/store`, stateDirectory, identity, identityFile }
}

export async function writeSecrets(
  device: Device,
  folder: string,
  count: number,
): Promise<string[]> {
  const store = await openStore(device)
  const ids = await makeSecrets(store, folder, count)
  await store.close()
  return ids
}

/** Ids of versions with a secret; a version without it follows each. */
async function makeSecrets(store: MemoryStore, folder: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) {
    const path = `${folder}/${n}.md`
    const content = `the secret of ${path}\n`
    ids.push(...(await store.as(author).apply([{ type: 'create', path, content }])).versionIds)
    await store.as(author).apply([{ type: 'edit', path, edit: () => 'clean\n' }])
  }
  return ids
}

export function copyOf(site: Site): Site {
  const [from, to] = [dirname(site.first.directory), temporaryDirectory()]
  copyDirectory(from, to)
  return { ...site, first: moved(site.first, from, to), second: moved(site.second, from, to) }
}

/** Verifies, writes and closes; nothing is left of those that are redacted then. */
export async function whichAreRedacted(device: Device, ids: readonly string[]): Promise<string[]> {
  const store = await openStore(device)
  await store.maintenance.verify({ threads: 0 })
  const found: string[] = []
  for (const id of ids) {
    const { content, path } = await store.history.version(id)
    if (content === undefined) found.push(id)
    else expect(content).toBe(`the secret of ${path}\n`)
  }
  await store.as(author).apply([{ type: 'create', path: `/found-${ids[0]}.md`, content: 'x' }])
  await store.maintenance.checkpoint()
  expect((await store.maintenance.findResidue()).found).toEqual([])
  await store.close()
  return found
}

export function argumentsOf(
  mode: 'work' | 'redact',
  { directory, stateDirectory, identityFile }: Device,
  name: string,
  ids: readonly string[],
): string[] {
  return [program, mode, directory, stateDirectory, identityFile, name, ...ids]
}
