// The operations on versions of memories (Memory Stores API §7, §8).

import { z } from 'zod'
import { StoreError } from '../errors.ts'
import type { ActorType } from '../format/change-record.ts'
import { findId } from '../format/id.ts'
import type { Page } from '../page.ts'
import type { Version } from '../store/history/versions.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { storeOperation } from './hosted.ts'
import { type FieldsOf, parameters } from './schemas.ts'
import {
  idField,
  pageFields,
  type PageInput,
  timeFields,
  type View,
  viewField,
} from './wire-fields.ts'
import { emptyPage, readPage } from './wire-pages.ts'
import { versionObject } from './wire.ts'

const filterFields = {
  memory_id: idField('a memory').optional(),
  operation: z
    .enum(['created', 'modified', 'deleted'], { error: 'created, modified or deleted' })
    .optional(),
  api_key_id: idField('an API key').optional(),
  session_id: idField('a session').optional(),
  service_account_id: idField('a service account').optional(),
  ...timeFields,
}

type VersionFilters = FieldsOf<typeof filterFields>

export const listVersions = storeOperation({
  name: 'the list of versions',
  effect: 'read',
  input: parameters({
    ...filterFields,
    view: viewField(),
    ...pageFields,
  }),
  run: ({ store, cursors }, { limit, page, view, ...filters }) =>
    readPage(cursors, page, {
      list: ['versions', store.id, ...filtersInOrder(filters)],
      toWire: (version: Version) => versionObject(store.id, version, version.content),
      read: (after) => versionsOf(store, filters, { limit, view, page: after }),
    }),
})

export const retrieveVersion = storeOperation({
  name: 'the retrieval of versions',
  effect: 'read',
  input: parameters({ memory_version_id: idField('the version'), view: viewField() }),
  run: async ({ store }, { memory_version_id: id, view = 'full' }) => {
    checkForm(id)
    const version = await store.history.version(id)
    return versionObject(store.id, version, view === 'full' ? version.content : undefined)
  },
})

/** The current version of a live memory is refused: no memory is changed by a redaction (§8.2). */
export const redactVersion = storeOperation({
  name: 'the redaction of versions',
  effect: 'manage',
  input: parameters({ memory_version_id: idField('the version') }),
  run: async ({ store, me }, { memory_version_id: id }) => {
    checkForm(id)
    await me.redact({ select: { versionIds: [id] }, reason: 'unspecified', current: 'refuse' })
    return versionObject(store.id, await store.history.version(id))
  },
})

/** An id of another form is that of no version. Throws `not_found`. */
function checkForm(versionId: string): void {
  if (findId('version', versionId) !== undefined) return
  throw new StoreError('not_found', 'There is no such version')
}

async function versionsOf(
  store: MemoryStore,
  filters: VersionFilters,
  query: PageInput & { readonly view?: View | undefined },
): Promise<Page<Version>> {
  const { memory_id: memoryId, operation } = filters
  const authors = authorsIn(filters)
  const [author] = authors
  // A version has one author.
  if (authors.length > 1) return emptyPage
  if (memoryId !== undefined && findId('memory', memoryId) === undefined) return emptyPage
  return store.history.versions({
    ...query,
    memoryId,
    operation,
    actorType: author?.type,
    actorId: author?.id,
    since: filters['created_at[gte]'],
    until: filters['created_at[lte]'],
    order: 'latest',
  })
}

function authorsIn(
  filters: VersionFilters,
): readonly { readonly type: ActorType; readonly id: string }[] {
  const asked = [
    { type: 'api', id: filters.api_key_id },
    { type: 'session', id: filters.session_id },
    { type: 'service_account', id: filters.service_account_id },
  ] as const
  return asked.flatMap(({ type, id }) => (id === undefined ? [] : [{ type, id }]))
}

function filtersInOrder(filters: VersionFilters): readonly unknown[] {
  return [
    filters.memory_id,
    filters.operation,
    filters.api_key_id,
    filters.session_id,
    filters.service_account_id,
    filters['created_at[gte]'],
    filters['created_at[lte]'],
  ]
}
