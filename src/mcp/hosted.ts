// What a caller of a server reaches through MCP, and in whose name he writes.

import { StoreError } from '../errors.ts'
import type { Caller, Host } from '../hosting/host.ts'
import { sessionStoresMax } from '../limits.ts'
import { hostedMounts } from '../memory-tool/hosted-mounts.ts'
import type { Mount } from '../memory-tool/mount.ts'
import type { Author } from '../store/commits/commit-context.ts'
import type { Searcher } from '../store/search/search-query.ts'
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
  return { ...mount, use: (work) => mount.use((context) => work({ ...context, searcher })) }
}

function checkNamed(named: readonly string[]): readonly string[] {
  checkCount(new Set(named).size === named.length ? named.length : 0)
  return named
}

/** The stores of a key's workspace; undefined for those of a session. */
function reached(host: Host, caller: Caller): readonly string[] | undefined {
  if (caller.attached !== undefined) return undefined
  const { data, nextPage } = host.list(caller, { limit: sessionStoresMax })
  checkCount(nextPage === undefined ? data.length : 0)
  return data.map(({ storeId }) => storeId)
}

function checkCount(count: number): void {
  if (count >= 1 && count <= sessionStoresMax) return
  throw new StoreError(
    'invalid_input',
    `Name 1 to ${sessionStoresMax} memory stores, each once, as memory_store_id in the address`,
    { details: { parameter: 'memory_store_id' } },
  )
}
