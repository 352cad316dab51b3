// The clone of an auditor, who only fetches and verifies: how it is kept through failures, and the
// checks at the end.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { expect } from 'vitest'
import { type ErrorCode, hasCode, StoreError } from '../../src/errors.ts'
import { formatId } from '../../src/format/id.ts'
import {
  type Audit,
  type AuditOptions,
  auditStore,
  type Device,
  type Identity,
  joinTrail,
  openStore,
  syncTrail,
  type TrailOptions,
} from '../../src/index.ts'
import { checkWithGit, storeIdAt } from '../support/clones.ts'
import { git, gitBytes, temporaryDirectory } from '../support/temporary.ts'
import { type Death, dying } from './convergence-death.ts'

/** What can go wrong while it fetches; at most one of both. */
export interface Trouble {
  /** ms until the connection is given up. */
  readonly after?: number | undefined
  readonly death?: Death | undefined
}

const trustFirstContact = async (): Promise<boolean> => true

export class Auditor {
  readonly deviceId: string
  readonly #identity: Identity
  readonly #remote: string
  readonly #root: string = temporaryDirectory()
  /** The code with which its newest call was refused. */
  #refused: ErrorCode | undefined

  constructor(identity: Identity, remote: string) {
    this.deviceId = formatId('device', identity.deviceId)
    this.#identity = identity
    this.#remote = remote
  }

  /** Joins if it has no clone yet, else applies the new commits. */
  async sync({ after, death }: Trouble = {}): Promise<void> {
    this.#refused = undefined
    const signal = after === undefined ? undefined : AbortSignal.timeout(after)
    const options = { ...this.#places, signal }
    try {
      if (death === undefined) await this.#take(options)
      else await dying(death, (faulty) => this.#take({ ...options, ...faulty(options.directory) }))
    } catch (error) {
      if (signal?.aborted === true && error instanceof StoreError) return
      // Not added yet as far as the remote knows, or removed.
      if (!hasCode(error, 'wrong_key')) throw error
      this.#refused = error.code
    }
  }

  /**
   * A device that is still one must have the remote's head and every record of it; a removed one
   * must have been refused, and its clone must be whole.
   */
  async expectCurrent(
    device: Device | undefined,
    head: string,
    versions: ReadonlySet<string>,
  ): Promise<void> {
    await this.sync()
    const isDevice = device !== undefined && device.removed === undefined
    expect(this.#refused).toBe(isDevice ? undefined : 'wrong_key')
    const { directory } = this.#places
    if (existsSync(directory)) checkWithGit(directory)
    if (!isDevice) return
    const audit = await auditStore(this.#places)
    expect(audit).toMatchObject({ head, deviceId: this.deviceId, role: device.role })
    const commits = git(['rev-list', 'main'], this.#remote).trim().split('\n')
    expect(audit.entries.map(({ commit }) => commit).toSorted()).toEqual(commits.toSorted())
    const listed = audit.entries.flatMap((entry) => entry.versions.map((one) => one.versionId))
    expect(new Set(listed)).toEqual(versions)
    if (device.role === 'auditor') await this.#expectBlind(audit)
  }

  get #places(): AuditOptions {
    const root = this.#root
    const identity = this.#identity
    return { directory: `${root}/clone`, stateDirectory: `${root}/state`, identity }
  }

  async #take(options: TrailOptions): Promise<void> {
    if (!existsSync(options.directory))
      await joinTrail({
        ...options,
        storeId: storeIdAt(this.#remote),
        url: this.#remote,
        trustFirstContact,
      })
    else await this.#update(options)
  }

  /** Accepts, as its user would, what members left out; the next audit lists it. */
  async #update(options: TrailOptions): Promise<void> {
    try {
      await syncTrail(options)
    } catch (error) {
      if (!hasCode(error, 'rolled_back')) throw error
      const { late } = await syncTrail({ ...options, acceptRolledBack: true })
      expect(late).not.toEqual([])
    }
  }

  /** It opens no store, and nothing that it has or is told holds a path, a text or a reason. */
  async #expectBlind(audit: Audit): Promise<void> {
    const { directory, identity } = this.#places
    const opening = openStore({ directory, identity, stateDirectory: temporaryDirectory() })
    await expect(opening).rejects.toMatchObject({ code: 'permission_denied' })
    expect(JSON.stringify(audit)).not.toContain(canary)
    const objects = gitBytes(['cat-file', '--batch', '--batch-all-objects'], directory)
    const files = readdirSync(this.#root, { recursive: true, encoding: 'utf8' })
      .map((name) => `${this.#root}/${name}`)
      .filter((name) => statSync(name).isFile())
      .map((name) => readFileSync(name))
    for (const bytes of [objects, ...files]) expect(bytes.includes(canary)).toBe(false)
  }
}

/** In a path, a text and a reason of a memory that every world begins with. */
export const canary = 'CANARY-of-every-world'
