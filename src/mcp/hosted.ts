// What a caller of a server reaches through MCP, and in whose name he writes.

import { StoreError } from '../errors.ts'
import type { Caller, Host } from '../hosting/host.ts'
import { sessionStoresMax } from '../limits.ts'
import { hostedMounts } from '../memory-tool/hosted-mounts.ts'
import type { Mount } from '../memory-tool/mount.ts'
import type { Author } from '../store/commits/commit-context.ts'
import { inRegexTurn, type Searcher } from '../store/search/regex-turns.ts'
import { keySession } from './session-names.ts'

/** A key's client is a session of its own; a session is itself, whatever its client is called. */
export function hostedAuthor({ actor, keyId }: Caller, name: unknown): Author {
  return actor.type === 'session' ? { actor } : { actor, session: keySession(name, keyId) }
}

/**
 * The stores that the address names, else those of the session, else all that the key's workspace
 * has. Throws `invalid_input` for more than a session may have, and `not_found`.
 */
export function hostedSpace(
  host: Host,
  caller: Caller,
  query: URLSearchParams,
  searcher: Searcher,
): { readonly mounts: readonly Mount[]; readonly isOne: boolean } {
  const named = query.getAll('memory_store_id')
  const storeIds = named.length > 0 ? checkNamed(named) : reached(host, caller)
  const mounts = hostedMounts(host, caller, storeIds).map((mount) => searchedBy(mount, searcher))
  return { mounts, isOne: named.length === 1 }
}

function searchedBy(mount: Mount, searcher: Searcher): Mount {
  return {
    ...mount,
    useInTurn: async (work) => {
      // To open the store within the turn would keep other searches waiting, and to hold it open
      // before the turn would keep its place from other stores.
      await mount.use(async () => undefined)
      return inRegexTurn(searcher, () => mount.use((context) => work({ ...context, searcher })))
    },
  }
}

function checkNamed(named: readonly string[]): readonly string[] {
  if (new Set(named).size === named.length && named.length <= sessionStoresMax) return named
  throw refused(`Name 1 to ${sessionStoresMax} memory stores, each once, as memory_store_id`)
}

/** The stores of a key's workspace; undefined for those of a session. */
function reached(host: Host, caller: Caller): readonly string[] | undefined {
  if (caller.attached !== undefined) return undefined
  const { data, nextPage } = host.list(caller, { limit: sessionStoresMax })
  if (data.length === 0) {
    throw refused(
      'The workspace of this API key has no memory store yet: create one with ' +
        '`gitlocket store create` on the server, or with `POST /v1/memory_stores`',
    )
  }
  if (nextPage === undefined) return data.map(({ storeId }) => storeId)
  throw refused(
    `The workspace of this API key has more than ${sessionStoresMax} memory stores: name those ` +
      'to use in the address, such as /mcp?memory_store_id=memstore_…',
  )
}

function refused(message: string): StoreError {
  return new StoreError('invalid_input', message, { details: { parameter: 'memory_store_id' } })
}
