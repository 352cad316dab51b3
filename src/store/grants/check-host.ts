// Tries the refs that grants need at a host: a push makes, replaces and deletes one of a random
// name, which holds nothing of the store.

import { toHex, utf8 } from '../../bytes.ts'
import { packInRam } from '../../git/disk-store/outgoing-pack.ts'
import type { Remote } from '../../git/exchange.ts'
import { connectPush, grantRefs } from '../../transport/push.ts'
import type { RefChange, RemoteAccess } from '../../transport/remote-access.ts'
import type { StoreSession } from '../session/session.ts'
import { blobOf } from './publish.ts'

/** What the host of a remote allows; a refusal is the clause of the host, or undefined. */
export interface HostCheck {
  readonly remote: string
  /** The refusal of refs below refs/gitlocket/. */
  readonly refs: string | undefined
  /** The refusal of tags, which are tried only if those are refused. */
  readonly tags: string | undefined
  /** Refs that it could not delete. */
  readonly leftOver: readonly string[]
}

export async function checkHost(
  session: StoreSession,
  { name: remote }: Remote,
  access: RemoteAccess,
): Promise<HostCheck> {
  const name = toHex(session.random(16))
  const refs = await tryRef(access, grantRefs(name, false).start)
  const isRefused = refs.refusal !== undefined
  const tags = isRefused ? await tryRef(access, grantRefs(name, true).start) : undefined
  const leftOver = [...refs.leftOver, ...(tags?.leftOver ?? [])]
  return { remote, refs: refs.refusal, tags: tags?.refusal, leftOver }
}

interface RefTrial {
  readonly refusal: string | undefined
  readonly leftOver: readonly string[]
}

/** Makes, replaces and deletes a ref. */
async function tryRef(access: RemoteAccess, name: string): Promise<RefTrial> {
  const [one, other] = [blobOf(utf8('a trial\n')), blobOf(utf8('another trial\n'))]
  const made = await push(access, { name, expected: undefined, next: one.oid }, one)
  if (made !== undefined) return { refusal: made, leftOver: [] }
  const replaced = await push(access, { name, expected: one.oid, next: other.oid }, other)
  const now = replaced === undefined ? other.oid : one.oid
  const deleted = await push(access, { name, expected: now, next: undefined })
  const refusal =
    (replaced && `it does not let them be replaced: ${replaced}`) ??
    (deleted && `it does not let them be deleted: ${deleted}`)
  return { refusal, leftOver: deleted === undefined ? [] : [name] }
}

/** The refusal, if the host refuses the change. */
async function push(
  access: RemoteAccess,
  change: RefChange,
  blob?: ReturnType<typeof blobOf>,
): Promise<string | undefined> {
  const connection = await connectPush(access)
  try {
    const pack = blob && (await packInRam([blob], () => undefined, undefined))
    const [refused] = await connection.push({ others: [change], pack })
    return refused?.reason
  } finally {
    await connection.close()
  }
}
