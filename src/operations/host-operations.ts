// The operations on memory stores (Memory Stores API §5).

import { z } from 'zod'
import { StoreError } from '../errors.ts'
import { checkSettings, isOwnKey, type Settings } from '../format/settings.ts'
import {
  contentBytesDefault,
  memoriesDefault,
  sessionInstructionsCharactersMax,
  sessionSecondsDefault,
  sessionStoresMax,
} from '../limits.ts'
import { hostOperation } from './hosted.ts'
import { type FieldsOf, parameters } from './schemas.ts'
import { idField, pageFields, readPage, timeFields } from './wire-fields.ts'
import { storeObject, timestamp } from './wire.ts'

type MetadataPatch = Readonly<Record<string, string | null>>

const storeId = idField('the memory store')

export const createStore = hostOperation({
  name: 'the creation of memory stores',
  effect: 'manage',
  input: parameters({
    name: plainText('the name'),
    description: plainText('the description').nullish(),
    metadata: pairsOf<Readonly<Record<string, string>>>('strings', isText).nullish(),
  }),
  run: async ({ host, caller }, { name, description, metadata }) => {
    const settings = { name, description: description ?? '', metadata: metadata ?? {} }
    checkKeys(settings.metadata)
    // Before anything of the store is made.
    checkSettings({ ...settings, archivedAt: undefined, limits: limitsDefault })
    return storeObject(await host.create(caller, settings))
  },
})

const limitsDefault = { contentBytes: contentBytesDefault, memories: memoriesDefault }

export const listStores = hostOperation({
  name: 'the list of memory stores',
  effect: 'read',
  input: parameters({
    include_archived: z.boolean({ error: 'true or false' }).default(false),
    ...timeFields,
    ...pageFields,
  }),
  run: ({ host, caller }, { include_archived: includeArchived, limit, page, ...times }) => {
    const since = times['created_at[gte]']
    const until = times['created_at[lte]']
    const session = caller.attached && caller.actor.id
    return readPage(host.cursors, page, {
      list: ['stores', caller.workspaceId, session, includeArchived, since, until],
      toWire: storeObject,
      read: (after) => host.list(caller, { includeArchived, since, until, limit, page: after }),
    })
  },
})

export const retrieveStore = hostOperation({
  name: 'the retrieval of memory stores',
  effect: 'read',
  input: parameters({ memory_store_id: storeId }),
  run: async ({ host, caller }, { memory_store_id: id }) => storeObject(await host.get(caller, id)),
})

/** Fields that are left out or null are kept. */
const storePatch = {
  name: plainText('the new name').nullish(),
  description: plainText('the new description').nullish(),
  metadata: pairsOf<MetadataPatch>('strings, or null to remove one', isTextOrNull).nullish(),
}

export const updateStore = hostOperation({
  name: 'the update of memory stores',
  effect: 'manage',
  input: parameters({ memory_store_id: storeId, ...storePatch }),
  run: async ({ host, caller }, { memory_store_id: id, ...patch }) =>
    storeObject(await host.updateSettings(caller, id, (now) => patched(now, patch))),
})

/** Only ever sets the time once. */
export const archiveStore = hostOperation({
  name: 'the archiving of memory stores',
  effect: 'manage',
  input: parameters({ memory_store_id: storeId }),
  run: async ({ host, caller, clock }, { memory_store_id: id }) => {
    const archivedAt = clock()
    const change = (now: Settings) => (now.archivedAt === undefined ? { archivedAt } : {})
    return storeObject(await host.updateSettings(caller, id, change))
  },
})

export const deleteStore = hostOperation({
  name: 'the deletion of memory stores',
  effect: 'manage',
  input: parameters({ memory_store_id: storeId }),
  run: async ({ host, caller }, { memory_store_id: id }) => {
    await host.delete(caller, id)
    return { id, type: 'memory_store_deleted' }
  },
})

/**
 * Fields that are absent or null do not change. Throws `store_archived`, also if nothing would
 * change.
 */
function patched(now: Settings, patch: FieldsOf<typeof storePatch>): Partial<Settings> {
  if (now.archivedAt !== undefined) {
    throw new StoreError('store_archived', 'The store is archived: it cannot be changed')
  }
  checkKeys(patch.metadata ?? {})
  const metadata = new Map(Object.entries(now.metadata))
  for (const [key, value] of Object.entries(patch.metadata ?? {})) {
    if (value === null) metadata.delete(key)
    else metadata.set(key, value)
  }
  return {
    name: patch.name ?? now.name,
    description: patch.description ?? now.description,
    metadata: Object.fromEntries(metadata),
  }
}

/**
 * A key of this API must not touch settings that only owners change on a device, such as the guard.
 */
function checkKeys(metadata: MetadataPatch): void {
  if (!Object.keys(metadata).some(isOwnKey)) return
  throw new StoreError(
    'invalid_input',
    'Keys of metadata that begin with gitlocket_ are kept by gitlocket: choose another key',
  )
}

/** `checkSettings` decides about its length and characters. */
function plainText(what: string): z.ZodString {
  return z.string({ error: `a string, ${what}` })
}

/** A record of zod would lose a key such as `__proto__`. */
function pairsOf<T>(what: string, fits: (value: unknown) => boolean): z.ZodType<T> {
  return z.custom<T>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.values(value).every(fits),
    { error: `an object whose values are ${what}` },
  )
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isTextOrNull(value: unknown): boolean {
  return value === null || isText(value)
}

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
