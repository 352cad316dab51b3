// FORMAT §12: who may begin and end grants, and what their holders may write.

import { type ActiveGrant, type ActiveGrants, begunBy } from './active-grants.ts'
import { mayGive, type Rights, roleIn } from './directory.ts'
import type { ChangeRecord } from './record.ts'
import { ensure, refuse } from './refusal.ts'

const activeMax = 1024
const dayMs = 24 * 60 * 60 * 1000

/** That the author of a kind 6 record may begin and end what its rows say. */
export function checkGrantRows(before: ActiveGrants, record: ChangeRecord, rights: Rights): void {
  const { deviceId: author, grants } = record
  const begun = begunBy(record)
  const gives = begun.size === 0 || mayGive(rights, author)
  ensure(gives, 'record_role', 'The author may not give grants')
  for (const id of begun.keys()) {
    ensure(!before.has(id), 'grant_known', 'The grant is active')
  }
  const after = new Map([...before, ...begun])
  for (const row of grants) {
    if (!row.ends) continue
    const grant = before.get(row.grantId)
    if (grant === undefined) return refuse('grant_ended', 'No such grant is active')
    const mayEnd = grant.granter === author || roleIn(rights, author) === 'owner'
    ensure(mayEnd, 'grant_foreign', 'Another device gave the grant')
    after.delete(row.grantId)
  }
  const own = [...after.values()].filter(({ granter }) => granter === author)
  const fits = begun.size === 0 || own.length <= activeMax
  ensure(fits, 'grant_limit', 'A device has at most 1,024 active grants')
}

/** The grant by whose key a record is signed, which its author's id names. */
export function checkGrantAuthor(record: ChangeRecord, before: ActiveGrants): ActiveGrant {
  const grant = before.get(record.deviceId)
  if (grant === undefined) return refuse('record_device', 'The author is no active member')
  const changes = record.kind === 'change' && grant.role === 'writer'
  ensure(
    changes,
    'record_role',
    'Only the holder of a writing grant writes, and changes memories only',
  )
  ensure(record.time <= grant.notAfter, 'grant_ended', 'The grant runs no longer')
  const isLater = record.time >= grant.began - dayMs
  ensure(isLater, 'grant_time', 'The record says to be more than a day older than the grant')
  return grant
}
