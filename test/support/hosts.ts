// Servers of many stores for tests: in a temporary directory, with a key in the default workspace.

import { openHostAdministration } from '../../src/hosting/administration.ts'
import type { Caller } from '../../src/hosting/credentials.ts'
import type { HostNotice } from '../../src/hosting/host-backend.ts'
import { type Host, type HostOptions, openHost } from '../../src/hosting/host.ts'
import { generateIdentity, generateOperatorSecret, type Identity } from '../../src/index.ts'
import { temporaryDirectory } from './temporary.ts'

export interface HostPlace {
  readonly dataDirectory: string
  readonly stateDirectory: string
  readonly identity: Identity
  readonly operatorSecret: string
}

/** Shared: making one takes longer than a test. */
const identity = await generateIdentity()
const operatorSecret = await generateOperatorSecret()

export function newHostPlace(root: string = temporaryDirectory()): HostPlace {
  const directories = { dataDirectory: `${root}/data`, stateDirectory: `${root}/state` }
  return { ...directories, identity, operatorSecret }
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
  const host = await openHost({ ...place, notice, ...options })
  const token = await newToken(place)
  return { host, place, token, notices, caller: await callerOf(host, token) }
}

export async function newToken(place: HostPlace, workspaceId?: string): Promise<string> {
  const administration = await openHostAdministration(place)
  const { token } = await administration.createKey('test', workspaceId)
  await administration.close()
  return token
}

export async function callerOf(host: Host, token: string): Promise<Caller> {
  const caller = await host.authenticate(token)
  if (caller === undefined) throw new Error('the token is refused')
  return caller
}
