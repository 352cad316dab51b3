// One transfer with a remote in one call, as tests of the transport want it: connects, does it, and
// closes whatever happens. The product keeps its conversations open for longer.

import type {
  BoundaryChange,
  PackExchange,
  ReceivedPack,
  ReceiveOptions,
} from '../../src/git/exchange.ts'
import { connectFetch } from '../../src/transport/fetch.ts'
import { connectPush } from '../../src/transport/push.ts'
import type {
  FetchRequest,
  PushRequest,
  RemoteAccess,
  RefusedRef,
  RemoteRefs,
} from '../../src/transport/remote-access.ts'

/**
 * The refs of the remote. Throws `invalid_input` for a malformed address, and, as everything here,
 * `remote_unreachable`, `remote_timeout`, `remote_auth`, `remote_not_found`, `remote_protocol` or
 * `cancelled`.
 */
export async function listRemote(access: RemoteAccess): Promise<RemoteRefs> {
  const connection = await connectFetch(access)
  await connection.close()
  return connection.refs
}

/** Takes a pack into a store without a verdict on what it holds. */
export async function receivePack(
  exchange: PackExchange,
  chunks: AsyncIterable<Uint8Array>,
  options?: ReceiveOptions,
): Promise<ReceivedPack> {
  const incoming = exchange.incoming()
  try {
    const received = await incoming.receive(chunks, options)
    await incoming.accept()
    return received
  } finally {
    incoming.drop()
  }
}

/**
 * Brings the objects behind `want` into a store, whole and checked, durable when it resolves; no
 * ref moves. Throws `remote_moved` if the remote no longer offers `want`, and `pack_refused`, with
 * nothing kept, for a pack that is damaged, hostile or above the limits.
 */
export async function fetchPack(
  access: RemoteAccess,
  { into, ...request }: Omit<FetchRequest, 'into'> & { readonly into: PackExchange },
): Promise<ReceivedPack & BoundaryChange> {
  const connection = await connectFetch(access)
  const incoming = into.incoming()
  try {
    const received = await connection.fetch({ ...request, into: incoming })
    await incoming.accept()
    return received
  } finally {
    incoming.drop()
    await connection.close()
  }
}

/**
 * Moves the remote's refs/heads/main from `expected` to `next`. Throws `remote_moved` if it is not
 * at `expected`, and `push_rejected`, with the host's message, if the host refuses. After any
 * other error the move may have happened. Resolves to the other refs that were refused.
 */
export async function pushPack(
  access: RemoteAccess,
  request: PushRequest,
): Promise<readonly RefusedRef[]> {
  const connection = await connectPush(access)
  try {
    return await connection.push(request)
  } finally {
    await connection.close()
  }
}
