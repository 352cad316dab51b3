// The API keys, the keys that fetch and the sessions of a server, with hashes of their tokens and
// never the tokens. A token has 256 random bits, so one hash is enough, and names its key or
// session, so that there is one hash to compare. Must not know stores but by their ids.

import { fromHex } from '../bytes.ts'
import { equalSecrets, sha256OfText } from '../crypto/digest.ts'
import { assert, StoreError } from '../errors.ts'
import type { Actor } from '../format/change-record.ts'
import { checkName } from './catalogue.ts'
import { type HostBackend, type HostNotice, newId } from './host-backend.ts'
import {
  type HostRecords,
  type Lists,
  type RecordsSnapshot,
  type RecordTables,
  type RecordStep,
  type RecordTally,
  untilChanged,
} from './host-records.ts'
import type { ListFile } from './list-file.ts'

export type Access = 'read_write' | 'read_only'

/** The caller: an API key, or the session whose token was shown. */
export interface Caller {
  /** `{type: 'api', id: 'apikey_…'}` or `{type: 'session', id: 'sesn_…'}`. */
  readonly actor: Actor
  /** `wrkspc_…`: all that the caller can see belongs to it. */
  readonly workspaceId: string
  /** `apikey_…`: the key, or the one that made the session. For logs and limits. */
  readonly keyId: string
  /** For a session: the stores that it reaches, by `memstore_…`. Undefined for a key. */
  readonly attached: ReadonlyMap<string, Access> | undefined
  /** For a session: its program's instructions about these stores, by `memstore_…`. */
  readonly instructions: ReadonlyMap<string, string>
}

/** What a session is attached to, by its wire names (Memory Stores API §10.6). */
export interface Attachment {
  readonly memory_store_id: string
  readonly access: Access
  readonly instructions: string | null
}

/** Times are ms since 1970. */
export interface ApiKey {
  /** `apikey_…`: public, and the actor of writes with the key. */
  readonly keyId: string
  readonly name: string
  readonly workspaceId: string
  readonly createdAt: number
  /** Undefined as long as the key works. A revoked key remains listed. */
  readonly revokedAt: number | undefined
  /**
   * `memstore_…`: the key fetches this one store by git, and does nothing else. Left out by keys of
   * the API.
   */
  readonly storeId?: string | undefined
}

interface TokenHash {
  /** SHA-256 of the token, in hex. */
  readonly hash: string
}

interface StoredSession extends TokenHash {
  readonly sessionId: string
  readonly keyId: string
  readonly workspaceId: string
  readonly expiresAt: number
  readonly attached: readonly (readonly [storeId: string, access: Access])[]
  /** Left out by those that knew none. */
  readonly instructions?: readonly (readonly [storeId: string, text: string])[]
}

type StoredKey = ApiKey & TokenHash

/** The type of the records of each table. */
export interface CredentialsRecords {
  /** Oldest first. */
  readonly keys: StoredKey
  readonly sessions: StoredSession
}

export const credentialTables: RecordTables<CredentialsRecords> = {
  keys: {
    idOf: ({ keyId }) => keyId,
    scopeOf: ({ workspaceId }) => workspaceId,
    timeOf: ({ createdAt }) => createdAt,
    order: 'added',
  },
  sessions: {
    idOf: ({ sessionId }) => sessionId,
    scopeOf: ({ keyId }) => keyId,
    timeOf: ({ expiresAt }) => expiresAt,
    weightOf: ({ instructions = [] }) =>
      instructions.reduce((sum, [, text]) => sum + text.length, 0),
    order: 'added',
  },
}

interface KnownCaller {
  readonly caller: Caller
  /** What the hash of the caller's token must be. */
  readonly hash: Uint8Array
  /** Infinity for a key; -Infinity for a revoked one. */
  readonly expiresAt: number
}

const SECRET_BYTES = 32
/**
 * The most sessions of one key: a request finds its session among them, and each change writes all.
 */
const sessionsMax = 10_000
const tokenForm = /^(?:glk|gls)_[0-9a-z]{26}_[A-Za-z0-9_-]{43}$/
/** A key that fetches. The hash covers the whole token, so that no other kind can be made of it. */
const fetchTokenForm = /^glf_[0-9a-z]{26}_[A-Za-z0-9_-]{43}$/
/** Characters of all instructions of one key at a time: each change writes them, too. */
const instructionsMax = 1_000_000
/** Of no token. */
const noHash = new Uint8Array(32)
/** Where the kind and the id of a token end. */
const TOKEN_KIND = 4
const TOKEN_ID = 30

export class Credentials {
  readonly #backend: HostBackend
  readonly #records: HostRecords<CredentialsRecords>
  /** The callers of records, which are asked for again and again. */
  readonly #known = new WeakMap<StoredKey | StoredSession, KnownCaller>()

  private constructor(backend: HostBackend, records: HostRecords<CredentialsRecords>) {
    this.#backend = backend
    this.#records = records
  }

  static async open(
    backend: HostBackend,
    notice: (notice: HostNotice) => void,
    acceptRolledBack: boolean,
    backup?: ListFile<Lists<CredentialsRecords>>,
  ): Promise<Credentials> {
    const first = (): Lists<CredentialsRecords> => backup?.value ?? { keys: [], sessions: [] }
    const firstAbove = backup?.generation
    const options = {
      role: 'credentials' as const,
      tables: credentialTables,
      first,
      firstAbove,
      notice,
      acceptRolledBack,
    }
    return new Credentials(backend, await backend.openRecords<CredentialsRecords>(options))
  }

  /** Whose token it is. An unknown one costs as much as one with a wrong secret. */
  async authenticate(token: string): Promise<Caller | undefined> {
    if (!tokenForm.test(token)) return undefined
    const digits = token.slice(TOKEN_KIND, TOKEN_ID)
    const found = token.startsWith('gls_')
      ? await this.#records.find('sessions', `sesn_${digits}`)
      : await this.#records.find('keys', `apikey_${digits}`)
    return this.#admit(token, found?.record)
  }

  /** The same for a token that fetches: it admits to nothing else, and no other token to this. */
  async authenticateFetch(token: string): Promise<Caller | undefined> {
    if (!fetchTokenForm.test(token)) return undefined
    const keyId = `apikey_${token.slice(TOKEN_KIND, TOKEN_ID)}`
    return this.#admit(token, (await this.#records.find('keys', keyId))?.record)
  }

  #admit(token: string, record: StoredKey | StoredSession | undefined): Caller | undefined {
    const known = record && this.#callerOf(record)
    const isRight = equalSecrets(fromHex(sha256OfText(token)), known?.hash ?? noHash)
    if (known === undefined || !isRight) return undefined
    return known.expiresAt > this.#backend.clock() ? known.caller : undefined
  }

  /** Oldest first. */
  async keys(): Promise<readonly ApiKey[]> {
    return (await this.#records.list('keys')).map(withoutHash)
  }

  /** The token is returned here and nowhere else. */
  async createKey(
    workspaceId: string,
    name: string,
    storeId?: string,
  ): Promise<{ readonly key: ApiKey; readonly token: string }> {
    const keyId = newId(this.#backend, 'apikey_')
    const token = this.#newToken(storeId === undefined ? 'glk' : 'glf', keyId)
    const times = { createdAt: this.#backend.clock(), revokedAt: undefined }
    const reach = storeId === undefined ? {} : { storeId }
    const key: ApiKey = { keyId, name: checkName(name), workspaceId, ...times, ...reach }
    const record = { ...key, hash: sha256OfText(token) }
    const isMade = await this.#change({ kind: 'add', table: 'keys', record })
    assert(isMade, 'the id of a new key is random')
    return { key, token }
  }

  /** Ends a key and its sessions, at their next request. Throws `not_found`. */
  revokeKey(keyId: string): Promise<ApiKey> {
    const revokedAt = this.#backend.clock()
    return untilChanged(async () => {
      const found = await this.#records.find('keys', keyId)
      if (found === undefined) throw noKey()
      if (found.record.revokedAt !== undefined) return withoutHash(found.record)
      const { revision } = found
      const record = { ...found.record, revokedAt }
      const isMade = await this.#change(
        { kind: 'replace', table: 'keys', record, revision },
        { kind: 'clear', table: 'sessions', scope: keyId },
      )
      return isMade ? withoutHash(record) : undefined
    })
  }

  async createSession(
    { keyId, workspaceId }: Pick<Caller, 'keyId' | 'workspaceId'>,
    resources: readonly Attachment[],
    lifeMs: number,
  ): Promise<{ readonly sessionId: string; readonly token: string; readonly expiresAt: number }> {
    const sessionId = newId(this.#backend, 'sesn_')
    const token = this.#newToken('gls', sessionId)
    const expiresAt = this.#backend.clock() + lifeMs
    const hash = sha256OfText(token)
    await this.#addSession({
      sessionId,
      keyId,
      workspaceId,
      expiresAt,
      hash,
      ...reachOf(resources),
    })
    return { sessionId, token, expiresAt }
  }

  /** Throws `not_found`, also for a session of another workspace. */
  async endSession(workspaceId: string, sessionId: string): Promise<void> {
    const found = await this.#records.find('sessions', sessionId)
    if (found?.record.workspaceId !== workspaceId) throw noSession()
    const isMade = await this.#change({ kind: 'remove', table: 'sessions', id: sessionId })
    if (!isMade) throw noSession()
  }

  /** For a copy. */
  snapshot(): Promise<RecordsSnapshot<CredentialsRecords>> {
    return this.#records.snapshot()
  }

  #addSession(record: StoredSession): Promise<true> {
    const { keyId } = record
    return untilChanged(async () => {
      const key = await this.#records.find('keys', keyId)
      // It may have been revoked since the request was authenticated.
      if (key === undefined || key.record.revokedAt !== undefined) throw noKey()
      const tally = await this.#records.tally('sessions', keyId, this.#backend.clock())
      const weight = tally.weight + (credentialTables.sessions.weightOf?.(record) ?? 0)
      checkLimits({ count: tally.count + 1, weight })
      const limit = { count: sessionsMax, weight: instructionsMax }
      const isMade = await this.#change(
        { kind: 'expect', table: 'keys', id: keyId, revision: key.revision },
        { kind: 'add', table: 'sessions', record },
        { kind: 'bound', table: 'sessions', scope: keyId, ...limit },
      )
      return isMade || undefined
    })
  }

  /** Every write leaves out expired sessions. */
  #change(...steps: readonly RecordStep<CredentialsRecords>[]): Promise<boolean> {
    const until = this.#backend.clock()
    return this.#records.change([{ kind: 'expire', table: 'sessions', until }, ...steps])
  }

  #newToken(kind: 'glk' | 'gls' | 'glf', id: string): string {
    const secret = Buffer.from(this.#backend.random(SECRET_BYTES)).toString('base64url')
    return `${kind}_${digitsOf(id)}_${secret}`
  }

  #callerOf(record: StoredKey | StoredSession): KnownCaller {
    const known = this.#known.get(record)
    if (known !== undefined) return known
    const made = 'sessionId' in record ? knownSession(record) : knownKey(record)
    this.#known.set(record, made)
    return made
  }
}

function knownKey({ keyId, workspaceId, hash, revokedAt, storeId }: StoredKey): KnownCaller {
  const actor = { type: 'api', id: keyId } as const
  const caller: Caller = {
    actor,
    workspaceId,
    keyId,
    attached: storeId === undefined ? undefined : new Map([[storeId, 'read_only']]),
    instructions: new Map(),
  }
  return { hash: fromHex(hash), expiresAt: revokedAt === undefined ? Infinity : -Infinity, caller }
}

function knownSession(session: StoredSession): KnownCaller {
  const { sessionId, keyId, workspaceId, expiresAt, hash } = session
  const actor = { type: 'session', id: sessionId } as const
  const attached = new Map(session.attached)
  const instructions = new Map(session.instructions)
  return {
    hash: fromHex(hash),
    expiresAt,
    caller: { actor, workspaceId, keyId, attached, instructions },
  }
}

function reachOf(
  resources: readonly Attachment[],
): Required<Pick<StoredSession, 'attached' | 'instructions'>> {
  return {
    attached: resources.map(({ memory_store_id: id, access }) => [id, access] as const),
    instructions: resources.flatMap(({ memory_store_id: id, instructions }) =>
      instructions === null ? [] : [[id, instructions] as const],
    ),
  }
}

/** Checks the sessions of one key. Throws `rate_limited`. */
function checkLimits({ count, weight }: RecordTally): void {
  if (count > sessionsMax) {
    throw tooMany(`An API key has at most ${sessionsMax} sessions at a time`)
  }
  if (weight > instructionsMax) {
    const limit = `${instructionsMax} characters of instructions at a time`
    throw tooMany(`The sessions of an API key have at most ${limit}`)
  }
}

function digitsOf(id: string): string {
  return id.slice(id.indexOf('_') + 1)
}

function withoutHash({ keyId, name, workspaceId, createdAt, revokedAt, storeId }: ApiKey): ApiKey {
  const reach = storeId === undefined ? {} : { storeId }
  return { keyId, name, workspaceId, createdAt, revokedAt, ...reach }
}

function noKey(): StoreError {
  return new StoreError('not_found', 'There is no such API key')
}

function tooMany(limit: string): StoreError {
  return new StoreError('rate_limited', `${limit}: end some, or wait`)
}

function noSession(): StoreError {
  return new StoreError('not_found', 'There is no such session')
}
