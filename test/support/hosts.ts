// Servers of many stores for tests: in a temporary directory, with a key in the default workspace.

import { type HostAdministration, openAdministrationOf } from '../../src/hosting/administration.ts'
import type { Caller } from '../../src/hosting/credentials.ts'
import { DataDirectory, type HostPlaces } from '../../src/hosting/data-directory.ts'
import type { HostBackend, HostNotice } from '../../src/hosting/host-backend.ts'
import { type Host, type HostOptions, openHostOn } from '../../src/hosting/host.ts'
import { generateIdentity, generateOperatorSecret, type Identity } from '../../src/index.ts'
import { temporaryDirectory } from './temporary.ts'
import { SharedPlace, VolatileBackend } from './volatile-host.ts'

export interface HostPlace {
  readonly dataDirectory: string
  readonly stateDirectory: string
  readonly identity: Identity
  readonly operatorSecret: string
  /** What several servers share; undefined for a data directory, which has one. */
  readonly shared?: SharedPlace
  /** Opens a backend of another kind. */
  readonly open?: (places: HostPlaces) => Promise<HostBackend>
}

/** Shared: making one takes longer than a test. */
const identity = await generateIdentity()
const operatorSecret = await generateOperatorSecret()

export function newHostPlace(root: string = temporaryDirectory()): HostPlace {
  const directories = { dataDirectory: `${root}/data`, stateDirectory: `${root}/state` }
  return { ...directories, identity, operatorSecret }
}

/** Each kind of backend, by what a test calls it. */
export const hostKinds = [
  { kind: 'a data directory', newPlace: (): HostPlace => newHostPlace() },
  { kind: 'shared rows', newPlace: (): HostPlace => newSharedPlace() },
] as const

export function newSharedPlace(): HostPlace {
  return { ...newHostPlace(), shared: new SharedPlace() }
}

async function backendOf(
  { shared, open, ...place }: HostPlace,
  options: Partial<HostOptions>,
): Promise<HostBackend> {
  const places = { ...place, ...options }
  if (open !== undefined) return open(places)
  return shared === undefined ? new DataDirectory(places) : new VolatileBackend(shared, places)
}

export const settings = { name: 'notes', description: 'what is noted', metadata: { team: 'a' } }

export interface OpenedHost {
  readonly host: Host
  readonly place: HostPlace
  /** With an API key. */
  readonly caller: Caller
  readonly token: string
  readonly notices: HostNotice[]
}

/** Close it in the test. */
export async function newHost(
  options: Partial<HostOptions> = {},
  place: HostPlace = newHostPlace(),
): Promise<OpenedHost> {
  const notices: HostNotice[] = []
  const notice = (one: HostNotice): number => notices.push(one)
  const { operatorSecret: secret } = place
  const backend = await backendOf(place, options)
  const host = await openHostOn(backend, { operatorSecret: secret, notice, ...options })
  const token = await newToken(place)
  return { host, place, token, notices, caller: await callerOf(host, token) }
}

/** The command line, next to servers. */
export async function administrationOf(place: HostPlace): Promise<HostAdministration> {
  return openAdministrationOf(await backendOf(place, {}))
}

export async function newToken(place: HostPlace, workspaceId?: string): Promise<string> {
  const administration = await administrationOf(place)
  const { token } = await administration.createKey('test', workspaceId)
  await administration.close()
  return token
}

export async function callerOf(host: Host, token: string): Promise<Caller> {
  const caller = await host.authenticate(token)
  if (caller === undefined) throw new Error('the token is refused')
  return caller
}
