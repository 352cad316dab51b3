// Fetches of one store by stock git (docs/SERVER.md, "Fetching by git"): brings the repository that
// git serves up to date for each request, so that no answer lacks a change acknowledged before it,
// or holds a text that a redaction had erased. Must not know HTTP.

import type { ProcessEnvironment } from '../transport/remote-access.ts'
import { checkFetchRequest, notOurRef, UploadPacks } from '../transport/upload-pack.ts'
import type { Caller } from './credentials.ts'
import type { Host } from './host.ts'

/** A request to fetch, as it came. */
export interface FetchBody {
  readonly bytes: Uint8Array
  /** `gzip`, or null. */
  readonly encoding: string | null
}

export interface FetchCall {
  readonly host: Host
  readonly caller: Caller
  readonly storeId: string
}

export interface FetchTerms {
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
  /** Whether the credential of the request is still valid. */
  readonly isAdmitted: () => Promise<boolean>
}

export class GitService {
  readonly #packs: UploadPacks

  constructor(environment: ProcessEnvironment | undefined) {
    this.#packs = new UploadPacks(environment)
  }

  /** Throws `invalid_input` without git. */
  check(): Promise<void> {
    return this.#packs.check()
  }

  /** The refs, as bytes of ASCII. Throws `not_found` for a store that the caller cannot see. */
  async list(call: FetchCall): Promise<Uint8Array> {
    const { directory } = await serve(call, [])
    return this.#packs.list(directory)
  }

  /** The answer to a fetch. Throws as `list` does, and `invalid_input` or `rate_limited`. */
  async fetch(
    call: FetchCall,
    body: FetchBody,
    { closing, isAdmitted }: FetchTerms,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer>> {
    const { request, wants } = checkFetchRequest(body.bytes, body.encoding)
    const { directory, strays } = await serve(call, wants)
    const [stray] = strays
    if (stray !== undefined) return notOurRef(stray)
    const { host, caller, storeId } = call
    // What git is sending may be erased in the meantime.
    const isServed = (): Promise<boolean> =>
      host.use(caller, storeId, (store) => store.maintenance.stillServes(directory))
    const mayGoOn = async (): Promise<boolean> => (await isAdmitted()) && isServed()
    const owner = { key: storeId, session: caller.keyId }
    return this.#packs.answer(directory, request, { owner, closing, mayGoOn })
  }
}

function serve({ host, caller, storeId }: FetchCall, wants: readonly string[]) {
  return host.use(caller, storeId, (store) => store.maintenance.serve(wants))
}
