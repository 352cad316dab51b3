// Servers that share a database, each a process of its own: killed in turn and started again, while
// keys are made and revoked. What a request may meet that was sent to a server of which life.

import { execFile } from 'node:child_process'
import { mkdirSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { cleanEnvironment, commandLine, freePort } from '../bench/machine.ts'
import { ServerProcess } from '../load/server-process.ts'

/** A connection that a killed server has left may be found broken a little later. */
const GRACE_MS = 2000

export interface ApiKey {
  readonly id: string
  readonly token: string
}

export interface FleetPlan {
  /** Of a database; its tables are made. */
  readonly engine: string
  readonly servers: number
  /** Further options of `serve`. */
  readonly serve: readonly string[]
}

export class FleetServer {
  readonly url: string
  readonly process: ServerProcess
  #brokenUntil = Number.POSITIVE_INFINITY

  constructor(url: string, process: ServerProcess) {
    this.url = url
    this.process = process
  }

  async start(): Promise<void> {
    await this.process.start()
    this.#brokenUntil = performance.now() + GRACE_MS
  }

  async restart(): Promise<void> {
    this.#brokenUntil = Number.POSITIVE_INFINITY
    await this.process.kill()
    await this.start()
  }

  /** Whether a request that was sent at this time may have met a dead server. */
  mayBreak(sentAt: number): boolean {
    return sentAt <= this.#brokenUntil
  }
}

export class Fleet {
  readonly servers: readonly FleetServer[]
  readonly #directory: string
  readonly #plan: FleetPlan
  #fresh = 0

  /** Prepares the database. `directory` is empty. */
  static async open(directory: string, plan: FleetPlan): Promise<Fleet> {
    const fleet = new Fleet(directory, plan, [])
    await fleet.#run(['engine', 'init'])
    const numbers = Array.from({ length: plan.servers }, (_, number) => `server-${number}`)
    return new Fleet(directory, plan, await Promise.all(numbers.map((name) => fleet.#add(name))))
  }

  private constructor(directory: string, plan: FleetPlan, servers: readonly FleetServer[]) {
    this.#directory = directory
    this.#plan = plan
    this.servers = servers
  }

  async start(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.start()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map(({ process }) => process.stop()))
  }

  /** A server that has no replica yet; not among `servers`. */
  async addFresh(): Promise<FleetServer> {
    this.#fresh += 1
    return this.#add(`fresh-${this.#fresh}`)
  }

  async createKey(): Promise<ApiKey> {
    const { id, token }: ApiKey = JSON.parse(await this.#run(['api-key', 'create', '--json']))
    return { id, token }
  }

  async revokeKey({ id }: ApiKey): Promise<void> {
    await this.#run(['api-key', 'revoke', id])
  }

  async #add(name: string): Promise<FleetServer> {
    const place = `${this.#directory}/${name}`
    mkdirSync(place)
    const port = await freePort()
    const options = ['--port', String(port), '--replicas', `${place}/replicas`]
    const command = [process.execPath, commandLine, 'serve', ...options, ...this.#plan.serve]
    const url = `http://127.0.0.1:${port}`
    const log = openSync(`${place}/log`, 'a')
    const server = new ServerProcess(command, url, { env: this.#environment(), log })
    process.on('exit', () => void server.kill())
    return new FleetServer(url, server)
  }

  async #run(args: readonly string[]): Promise<string> {
    const env = this.#environment()
    const { stdout } = await promisify(execFile)(process.execPath, [commandLine, ...args], { env })
    return stdout
  }

  #environment(): NodeJS.ProcessEnv {
    return { ...cleanEnvironment(this.#directory), GITLOCKET_ENGINE: this.#plan.engine }
  }
}
