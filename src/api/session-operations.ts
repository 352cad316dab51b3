// The operations on sessions, whose tokens reach some stores for some time (Memory Stores API
// §10.5, §10.6).

import { z } from 'zod'
import {
  sessionInstructionsCharactersMax,
  sessionSecondsDefault,
  sessionStoresMax,
} from '../limits.ts'
import { hostOperation } from './hosted.ts'
import { parameters } from './schemas.ts'
import { idField } from './wire-fields.ts'
import { timestamp } from './wire.ts'

/** The answer is what `SessionMemoryStores.download` of the SDK takes as a session. */
export const createSession = hostOperation({
  name: 'the creation of sessions',
  effect: 'manage',
  input: parameters({
    resources: resourcesField(),
    expires_in: z.number({ error: 'a number of seconds' }).nullish(),
  }),
  run: async ({ host, caller }, { resources, expires_in: expiresIn }) => {
    const { sessionId, token, expiresAt, ...made } = await host.createSession(caller, {
      resources: resources.map(({ memory_store_id, access, instructions }) => ({
        memory_store_id,
        access: access ?? 'read_write',
        instructions: instructions ?? null,
      })),
      expiresIn: expiresIn ?? sessionSecondsDefault,
    })
    return {
      id: sessionId,
      token,
      expires_at: timestamp(expiresAt),
      resources: made.resources,
    }
  },
})

export const endSession = hostOperation({
  name: 'the end of sessions',
  effect: 'manage',
  input: parameters({ session_id: idField('the session') }),
  run: async ({ host, caller }, { session_id: id }) => {
    await host.endSession(caller, id)
    return { id, type: 'session_ended' }
  },
})

/** Which there may be is for the host. */
function resourcesField() {
  const error = {
    error:
      `a list of at most ${sessionStoresMax} ` +
      '{type: memory_store, memory_store_id, access?, instructions?}; access is ' +
      'read_write or read_only, and instructions have at most ' +
      `${sessionInstructionsCharactersMax} characters`,
  }
  const instructions = z
    .string(error)
    .refine((text) => text.isWellFormed(), error)
    .refine((text) => Array.from(text).length <= sessionInstructionsCharactersMax, error)
  const resource = z.object(
    {
      type: z.literal('memory_store', error),
      memory_store_id: z.string(error),
      access: z.enum(['read_write', 'read_only'], error).nullish(),
      instructions: instructions.nullish(),
    },
    error,
  )
  // Before each is looked at: of half a million, that takes a second.
  const short = z.custom<readonly unknown[]>(
    (value) => Array.isArray(value) && value.length <= sessionStoresMax,
    error,
  )
  return short.pipe(z.array(resource, error))
}
