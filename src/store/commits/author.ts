// Checks the author that a caller gives (FORMAT §1.2, §6.1): it is signed and kept for ever, so
// nothing malformed may get in.

import { StoreError } from '../../errors.ts'
import type { Actor, ActorType } from '../../format/change-record.ts'
import { actorIdLengthMax, noteBytesMax } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import type { Author } from './commit-context.ts'

const ID = /^[A-Za-z0-9._:@-]+$/
const actorTypes: readonly ActorType[] = ['api', 'user', 'service_account', 'session']

/**
 * Returns a copy, which the caller cannot change. An actor of type session is its own session.
 * Throws `invalid_input`.
 */
export function checkAuthor(author: Author): Author {
  if (!isObject(author)) throw invalid('An author must name an actor: { actor: { type, id } }')
  const actor = checkActor(author.actor)
  const { session, reason, guard } = author
  if (session !== undefined) checkActorId('The session', session)
  if (actor.type === 'session' && session !== undefined && session !== actor.id) {
    throw invalid('The session of an actor of type session must equal its id')
  }
  if (reason !== undefined) checkReason(reason)
  const defaultSession = actor.type === 'session' ? actor.id : undefined
  return { actor, session: session ?? defaultSession, reason, guard }
}

/** Returns a copy. Throws `invalid_input`. */
export function checkActor(actor: Readonly<Record<keyof Actor, unknown>>): Actor {
  if (!isObject(actor)) throw invalid('An author must name an actor: { actor: { type, id } }')
  const { id } = actor
  const type = actorTypes.find((one) => one === actor.type)
  if (type === undefined) {
    throw invalid('The type of the actor must be api, user, service_account or session')
  }
  checkActorId('The id of the actor', id)
  return { type, id }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function checkActorId(what: string, id: unknown): asserts id is string {
  if (typeof id === 'string' && id.length <= actorIdLengthMax && ID.test(id)) return
  throw invalid(`${what} must be 1 to ${actorIdLengthMax} characters of A-Z a-z 0-9 . _ : @ -`)
}

function checkReason(reason: unknown): void {
  if (typeof reason !== 'string' || !reason.isWellFormed() || reason.includes('\0')) {
    throw invalid('The reason must be well-formed text without NUL characters')
  }
  if (Bytes.byteLength(reason) > noteBytesMax) {
    throw invalid(`The reason must be at most ${noteBytesMax} bytes`)
  }
}

function invalid(message: string): StoreError {
  return new StoreError('invalid_input', message)
}
