// What the holders of this device's grants would miss now, for `doctor`: grants whose end is not
// written, and starts and wraps that a remote lacks or that are out of date. Changes nothing; the
// next sync mends all of it (publish.ts).

import { hasCode, StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { Remote } from '../../git/exchange.ts'
import { connectFetch } from '../../transport/fetch.ts'
import { grantRefs } from '../../transport/push.ts'
import type { RemoteOptions } from '../../transport/remote-access.ts'
import type { PublishedStart } from '../local/grant-notes.ts'
import type { StoreSession } from '../session/session.ts'
import { dueGrants } from './grants.ts'
import { liveGrants, readNotes, refNames } from './own-grants.ts'
import { REFRESH_COMMITS } from './publish.ts'

/** Syncs make a start again each hour in which something was written. */
const STALE_MS = 24 * 60 * 60 * 1000

export interface GrantsSurvey {
  /** The number of this device's grants that have not ended. */
  readonly live: number
  /** `dev_…`: their time was over a day ago, and no record ends them yet. */
  readonly due: readonly string[]
  readonly remotes: readonly RemoteGrants[]
}

interface RemoteGrants {
  readonly remote: string
  /** `start`, `wraps`: a holder cannot begin. `stale`: the start is old, or of older keys. */
  readonly lacks: readonly ('start' | 'wraps' | 'stale')[]
  /** Why it could not be asked. */
  readonly error: StoreError | undefined
}

/** Undefined if this device has no grants that have not ended. Throws `cancelled`. */
export async function surveyGrants(
  session: StoreSession,
  access: RemoteOptions,
): Promise<GrantsSurvey | undefined> {
  const own = await session.planning(async () => {
    const { snapshot, identity, clock } = session
    const ids = liveGrants(snapshot, identity.deviceId)
    if (ids.length === 0) return undefined
    const due = dueGrants(snapshot, identity.deviceId, clock.now())
    const { published } = await readNotes(session)
    const { height } = snapshot.head
    const state = { kid: snapshot.keyring.kid, redacted: snapshot.redacted.size, height }
    const name = refNames(session)(identity.deviceId)
    return { ids, due, published, state, name, now: clock.now() }
  })
  if (own === undefined) return undefined
  const { ids, due, published, state, name, now } = own
  const isStale = ({ kid, redacted, height, at, grants }: PublishedStart): boolean => {
    const isOther = kid !== state.kid || redacted !== state.redacted || grants.join() !== ids.join()
    const higher = state.height - height
    return isOther || higher >= REFRESH_COMMITS || (higher > 0 && now - at > STALE_MS)
  }
  const remotes: RemoteGrants[] = []
  for (const { name: remote, url } of session.objects.exchange.remotes()) {
    const known = published[remote]
    const noted = known?.url === url ? known : undefined
    const refs = grantRefs(name, noted?.isTagged === true)
    const shown = await askRefs({ name: remote, url }, access)
    if (shown instanceof StoreError) {
      remotes.push({ remote, lacks: [], error: shown })
      continue
    }
    const lacks = (['start', 'wraps'] as const).filter((kind) => {
      return noted === undefined || shown.get(refs[kind]) !== noted[kind]
    })
    const stale = noted !== undefined && lacks.length === 0 && isStale(noted)
    remotes.push({ remote, lacks: stale ? ['stale'] : lacks, error: undefined })
  }
  return { live: ids.length, due: due.map((id) => formatId('device', id)), remotes }
}

/** The refs of grants that a remote shows, or why it cannot be asked. */
async function askRefs(
  { url }: Remote,
  access: RemoteOptions,
): Promise<ReadonlyMap<string, string> | StoreError> {
  try {
    const connection = await connectFetch({ ...access, url })
    await connection.close()
    return connection.refs.named
  } catch (error) {
    if (error instanceof StoreError && !hasCode(error, 'cancelled')) return error
    throw error
  }
}
