// `gitlocket/server`: the Memory Stores API over HTTP. Translates requests into operations and
// their results into answers; decides nothing.

import type { HostOptions } from '../hosting/host.ts'
import type { HttpOptions } from './options.ts'
import { openServer, type Server } from './serve-host.ts'

export {
  type HostAdministration,
  type NewHostedStore,
  openHostAdministration,
} from '../hosting/administration.ts'
export type { HostedRoute } from '../operations/hosted.ts'
export type { HostedStore, Workspace } from '../hosting/catalogue.ts'
export type { ApiKey } from '../hosting/credentials.ts'
export type { HostPlaces } from '../hosting/data-directory.ts'
export type { HostNotice } from '../hosting/host-backend.ts'
export type { HostRecovery } from '../hosting/hosted-stores.ts'
export type { LogLine, MetricsOptions, WebGitOptions } from './options.ts'
export type { Address } from './listener.ts'
export type { HostOptions, HttpOptions, Server }
export type { ServerLimits } from './options.ts'

/** Those of the data directory as `HostOptions`, and how it is served. */
export type ServerOptions = HostOptions & HttpOptions

/**
 * Opens a data directory and serves it, once `listen` is called. Rejects with `invalid_input`,
 * `locked` if another server has it open, and with the codes of what cannot be opened.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  return (await openServer(options)).server
}
