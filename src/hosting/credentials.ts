// The API keys and the sessions of a server, in a sealed file: hashes of their tokens, never the
// tokens. A token has 256 random bits, so one hash is enough, and names its key or session, so that
// there is one hash to compare. Must not know stores but by their ids.

import { fromHex } from '../bytes.ts'
import { equalSecrets, sha256OfText } from '../crypto/digest.ts'
import { StoreError } from '../errors.ts'
import type { Actor } from '../format/change-record.ts'
import { checkName } from './catalogue.ts'
import type { DataDirectory, HostNotice } from './data-directory.ts'
import { SealedFile } from './sealed-file.ts'

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

interface CredentialsValue {
  readonly keys: readonly (ApiKey & TokenHash)[]
  readonly sessions: readonly StoredSession[]
}

/** What the index of the file finds by the digits of a token. */
interface KnownCaller extends TokenHash {
  readonly caller: Caller
  /** Infinity for a key. */
  readonly expiresAt: number
}

const SECRET_BYTES = 32
/**
 * The most sessions of one key: a request finds its session among them, and each change writes all.
 */
const sessionsMax = 10_000
const tokenForm = /^(?:glk|gls)_[0-9a-z]{26}_[A-Za-z0-9_-]{43}$/
/** Characters of all instructions of one key at a time: each change writes them, too. */
const instructionsMax = 1_000_000
/** Of no token. */
const noHash = '0'.repeat(64)

export class Credentials {
  readonly #directory: DataDirectory
  readonly #file: SealedFile<CredentialsValue>
  #indexed: CredentialsValue | undefined
  #known: ReadonlyMap<string, KnownCaller> = new Map()

  private constructor(directory: DataDirectory, file: SealedFile<CredentialsValue>) {
    this.#directory = directory
    this.#file = file
  }

  static async open(
    directory: DataDirectory,
    notice: (notice: HostNotice) => void,
    acceptRolledBack: boolean,
  ): Promise<Credentials> {
    const role = 'credentials'
    const file = await SealedFile.open<CredentialsValue>(
      {
        ...directory.file(role),
        first: () => ({ keys: [], sessions: [] }),
        notice: (error) => notice({ about: role, error }),
      },
      acceptRolledBack,
    )
    return new Credentials(directory, file)
  }

  /** Whose token it is. An unknown one costs as much as one with a wrong secret. */
  authenticate(token: string): Caller | undefined {
    if (!tokenForm.test(token)) return undefined
    const known = this.#index().get(nameOf(token))
    const hash = sha256OfText(token)
    const isRight = equalSecrets(fromHex(hash), fromHex(known?.hash ?? noHash))
    if (known === undefined || !isRight) return undefined
    return known.expiresAt > this.#directory.clock() ? known.caller : undefined
  }

  /** Oldest first. */
  keys(): readonly ApiKey[] {
    return this.#file.read().keys.map(withoutHash)
  }

  /** The token is returned here and nowhere else. */
  async createKey(
    workspaceId: string,
    name: string,
  ): Promise<{ readonly key: ApiKey; readonly token: string }> {
    const keyId = this.#directory.newId('apikey_')
    const token = this.#newToken('glk', keyId)
    const times = { createdAt: this.#directory.clock(), revokedAt: undefined }
    const key: ApiKey = { keyId, name: checkName(name), workspaceId, ...times }
    await this.#update(({ keys, sessions }) => {
      return { keys: [...keys, { ...key, hash: sha256OfText(token) }], sessions }
    })
    return { key, token }
  }

  /** Ends a key and its sessions, at their next request. Throws `not_found`. */
  async revokeKey(keyId: string): Promise<ApiKey> {
    const revokedAt = this.#directory.clock()
    const { keys } = await this.#update((now) => {
      const key = getKey(now.keys, keyId)
      if (key.revokedAt !== undefined) return now
      return {
        keys: now.keys.map((one) => (one === key ? { ...key, revokedAt } : one)),
        sessions: now.sessions.filter((session) => session.keyId !== keyId),
      }
    })
    return withoutHash(getKey(keys, keyId))
  }

  async createSession(
    { keyId, workspaceId }: Pick<Caller, 'keyId' | 'workspaceId'>,
    resources: readonly Attachment[],
    lifeMs: number,
  ): Promise<{ readonly sessionId: string; readonly token: string; readonly expiresAt: number }> {
    const sessionId = this.#directory.newId('sesn_')
    const token = this.#newToken('gls', sessionId)
    const expiresAt = this.#directory.clock() + lifeMs
    const reach = reachOf(resources)
    const session = {
      sessionId,
      keyId,
      workspaceId,
      expiresAt,
      hash: sha256OfText(token),
      ...reach,
    }
    await this.#update(({ keys, sessions }) => {
      // It may have been revoked since the request was authenticated.
      if (getKey(keys, keyId).revokedAt !== undefined) throw noKey()
      const all = [...sessions, session]
      checkLimits(all.filter((one) => one.keyId === keyId))
      return { keys, sessions: all }
    })
    return { sessionId, token, expiresAt }
  }

  /** Throws `not_found`, also for a session of another workspace. */
  async endSession(workspaceId: string, sessionId: string): Promise<void> {
    await this.#update(({ keys, sessions }) => {
      const found = sessions.find((one) => one.sessionId === sessionId)
      if (found === undefined || found.workspaceId !== workspaceId) throw noSession()
      return { keys, sessions: sessions.filter((one) => one !== found) }
    })
  }

  /** For a copy. */
  snapshot(): Promise<{ readonly value: CredentialsValue; readonly bytes: Uint8Array }> {
    return this.#file.snapshot()
  }

  /** Every write leaves out expired sessions. */
  #update(change: (now: CredentialsValue) => CredentialsValue): Promise<CredentialsValue> {
    return this.#file.update((now) => {
      const time = this.#directory.clock()
      const sessions = now.sessions.filter(({ expiresAt }) => expiresAt > time)
      const live = sessions.length < now.sessions.length ? { ...now, sessions } : now
      return change(live)
    })
  }

  #newToken(kind: 'glk' | 'gls', id: string): string {
    const secret = Buffer.from(this.#directory.random(SECRET_BYTES)).toString('base64url')
    return `${kind}_${digitsOf(id)}_${secret}`
  }

  #index(): ReadonlyMap<string, KnownCaller> {
    const value = this.#file.read()
    if (value === this.#indexed) return this.#known
    const keys = value.keys.filter(({ revokedAt }) => revokedAt === undefined)
    this.#known = new Map([
      ...keys.map((key) => [`glk_${digitsOf(key.keyId)}`, knownKey(key)] as const),
      ...value.sessions.map(
        (one) => [`gls_${digitsOf(one.sessionId)}`, knownSession(one)] as const,
      ),
    ])
    this.#indexed = value
    return this.#known
  }
}

function knownKey({ keyId, workspaceId, hash }: ApiKey & TokenHash): KnownCaller {
  const actor = { type: 'api', id: keyId } as const
  const caller: Caller = {
    actor,
    workspaceId,
    keyId,
    attached: undefined,
    instructions: new Map(),
  }
  return { hash, expiresAt: Infinity, caller }
}

function knownSession(session: StoredSession): KnownCaller {
  const { sessionId, keyId, workspaceId, expiresAt, hash } = session
  const actor = { type: 'session', id: sessionId } as const
  const attached = new Map(session.attached)
  const instructions = new Map(session.instructions)
  return { hash, expiresAt, caller: { actor, workspaceId, keyId, attached, instructions } }
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

/** Checks the number of sessions of one key. Throws `rate_limited`. */
function checkLimits(sessions: readonly StoredSession[]): void {
  if (sessions.length > sessionsMax) {
    throw tooMany(`An API key has at most ${sessionsMax} sessions at a time`)
  }
  const texts = sessions.flatMap(({ instructions = [] }) => instructions)
  if (texts.reduce((sum, [, text]) => sum + text.length, 0) > instructionsMax) {
    const limit = `${instructionsMax} characters of instructions at a time`
    throw tooMany(`The sessions of an API key have at most ${limit}`)
  }
}

/** The kind and the digits of the id. */
function nameOf(token: string): string {
  return token.slice(0, token.indexOf('_', 4))
}

function digitsOf(id: string): string {
  return id.slice(id.indexOf('_') + 1)
}

function withoutHash({ keyId, name, workspaceId, createdAt, revokedAt }: ApiKey): ApiKey {
  return { keyId, name, workspaceId, createdAt, revokedAt }
}

function getKey(keys: CredentialsValue['keys'], keyId: string): ApiKey & TokenHash {
  const found = keys.find((key) => key.keyId === keyId)
  if (found === undefined) throw noKey()
  return found
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
