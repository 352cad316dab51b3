// The parts of objects of the Memory Stores API (§3, §4) that the server and the command line give
// alike. Pure.

import type { Actor } from '../format/change-record.ts'

export type Wire = Readonly<Record<string, unknown>>

/** A page of a list. A list that is complete has no cursor to go on from. */
export function pageJson(data: readonly unknown[], nextPage?: string): Wire {
  return { data, next_page: nextPage ?? null }
}

/** RFC 3339, in UTC. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

const actorIdNames: Readonly<Record<Actor['type'], string>> = {
  api: 'api_key_id',
  user: 'user_id',
  service_account: 'service_account_id',
  session: 'session_id',
}

export function actorJson(actor: Actor | undefined): Readonly<Record<string, string>> | null {
  if (actor === undefined) return null
  return { type: `${actor.type}_actor`, [actorIdNames[actor.type]]: actor.id }
}
