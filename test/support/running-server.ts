// The real server on a free port, for tests: its own data and state directories, two workspaces,
// keys of both, and stores and memories made over HTTP. It can be restarted on its data.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFleet } from './fleet.ts'
import { allPages, expectDone, HttpCaller, type Json } from './http-caller.ts'
import { startPostgres } from './postgres.ts'
import { full, seed } from './seed.ts'
import { type HostedKey, type ServerSettings, startServer, type StartedServer } from './server.ts'
import { sharedDirectory } from './temporary.ts'
import { type Requirement, requires } from './tools.ts'

export const storesPath = '/v1/memory_stores'
export const sessionsPath = '/v1/gitlocket/sessions'

/** One store over HTTP, with the key of `caller`. */
export class StoreOnServer {
  readonly caller: HttpCaller
  readonly id: string
  readonly path: string

  constructor(caller: HttpCaller, id: string) {
    this.caller = caller
    this.id = id
    this.path = `${storesPath}/${id}`
  }

  as(caller: HttpCaller): StoreOnServer {
    return new StoreOnServer(caller, this.id)
  }

  async get(rest = ''): Promise<Json> {
    return expectDone(await this.caller.get(this.path + rest))
  }

  async create(path: string, content = 'text'): Promise<Json> {
    return expectDone(await this.caller.post(`${this.path}/memories`, { path, content }))
  }

  async update(id: string, body: unknown): Promise<Json> {
    return expectDone(await this.caller.post(`${this.path}/memories/${id}`, body))
  }

  async delete(id: string): Promise<Json> {
    return expectDone(await this.caller.delete(`${this.path}/memories/${id}`))
  }

  async redact(versionId: string): Promise<Json> {
    return expectDone(await this.caller.post(`${this.path}/memory_versions/${versionId}/redact`))
  }

  memories(query = ''): Promise<Json[]> {
    return allPages(this.caller, `${this.path}/memories?${query}`)
  }

  /** Newest first. */
  versions(query = ''): Promise<Json[]> {
    return allPages(this.caller, `${this.path}/memory_versions?${query}`)
  }
}

/** The server of a file of tests, or of a `describe`. */
export class RunningServer {
  readonly directory: string
  readonly #start: () => Promise<StartedServer>
  #started: StartedServer | undefined
  #keys:
    | { readonly mine: HostedKey; readonly second: HostedKey; readonly foreign: HostedKey }
    | undefined

  constructor(directory: string, start: () => Promise<StartedServer>) {
    this.directory = directory
    this.#start = start
  }

  async start(): Promise<void> {
    this.#started = await this.#start()
    if (this.#keys !== undefined) return
    const mine = await this.started.workspace('mine')
    const theirs = await this.started.workspace('theirs')
    this.#keys = {
      mine: await this.started.key(mine),
      second: await this.started.key(mine),
      foreign: await this.started.key(theirs),
    }
  }

  async stop(): Promise<void> {
    await this.#started?.close()
    this.#started = undefined
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  get started(): StartedServer {
    return present(this.#started)
  }

  get url(): string {
    return this.started.url
  }

  get key(): HostedKey {
    return present(this.#keys).mine
  }

  /** Another key of the same workspace. */
  get otherKey(): HostedKey {
    return present(this.#keys).second
  }

  /** A key of another workspace. */
  get foreignKey(): HostedKey {
    return present(this.#keys).foreign
  }

  get caller(): HttpCaller {
    return this.as(this.key.secret)
  }

  get other(): HttpCaller {
    return this.as(this.otherKey.secret)
  }

  get foreign(): HttpCaller {
    return this.as(this.foreignKey.secret)
  }

  as(token: string | undefined): HttpCaller {
    return new HttpCaller(this.url, token)
  }

  async store(settings: object = {}): Promise<StoreOnServer> {
    const body = { name: 'store', ...settings }
    const { id } = expectDone(await this.caller.post(storesPath, body))
    return new StoreOnServer(this.caller, id)
  }

  /** What `POST …/sessions` gives. A store that is named alone is attached `read_write`. */
  async session(resources: readonly (StoreOnServer | object)[], more: object = {}): Promise<Json> {
    const body = { resources: resources.map(resourceOf), ...more }
    return expectDone(await this.caller.post(sessionsPath, body))
  }
}

/** Call it once, at the top of a file or of a `describe`. */
export function runningServer(settings: ServerSettings = {}): RunningServer {
  const root = sharedDirectory()
  return running(new RunningServer(root, () => startServer(root, settings)))
}

/** Two servers that share a database, behind a balancer. */
function runningFleet(settings: ServerSettings = {}): RunningServer {
  const root = sharedDirectory()
  let url: string | undefined
  return running(
    new RunningServer(root, async () => {
      url ??= (await startPostgres()).database()
      return startFleet(root, url, settings)
    }),
  )
}

function running(server: RunningServer): RunningServer {
  beforeAll(() => server.start())
  afterAll(() => server.stop())
  return server
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the server is started in beforeAll')
  return value
}

function resourceOf(resource: StoreOnServer | object): object {
  if (!(resource instanceof StoreOnServer)) return resource
  return { type: 'memory_store', memory_store_id: resource.id }
}

const postgres = requires('postgres')

/** The servers that the suite of the Memory Stores API runs against. */
const setups: readonly Setup[] = [
  { name: 'a server', settings: {} },
  { name: 'a server with two open stores at most', settings: { maxOpen: 2 } },
  { name: `two servers over a database${postgres.note}`, settings: {}, needs: postgres },
]

interface Setup {
  readonly name: string
  readonly settings: ServerSettings
  /** A database, which several servers share. */
  readonly needs?: Requirement
}

/**
 * Defines the tests against a server, and last a test that it serves the same after a restart. By
 * default the seed selects one setup for each `subject`; with FULL=1 all.
 */
export function onServers(subject: string, define: (at: RunningServer) => void): void {
  const chosen = setups.filter((_, index) => (subject.length + seed + index) % setups.length === 0)
  for (const { name, settings, needs } of full ? setups : chosen) {
    describe.skipIf(needs?.missing === true)(`${subject}: ${name}`, () => {
      const at = needs === undefined ? runningServer(settings) : runningFleet(settings)
      define(at)
      test('reads are the same after a restart', async () => {
        const before = await everything(at)
        await at.restart()
        expect(await everything(at)).toEqual(before)
      })
    })
  }
}

/** All that the two callers can read, of the newest stores at least. */
async function everything(at: RunningServer): Promise<unknown> {
  const read = async (caller: HttpCaller): Promise<unknown> => {
    const stores = await allPages(caller, `${storesPath}?include_archived=true&limit=100`)
    const some = stores.slice(0, full ? undefined : 4)
    const contents = some.map(async ({ id }) => {
      const store = new StoreOnServer(caller, id)
      return [await store.get(), await store.memories('view=full'), await store.versions()]
    })
    return { stores, contents: await Promise.all(contents) }
  }
  return Promise.all([read(at.caller), read(at.foreign)])
}
