// The routes of the server: which operation a method and a path mean. The inputs of the operation
// that are not in the path travel in the query or the body. All else that a request sends is
// ignored.

import { runMemoryTool } from '../memory-tool/hosted.ts'
import * as host from '../operations/host-operations.ts'
import { inStore, onHost, type RoutedOperation } from '../operations/hosted.ts'
import * as memories from '../operations/memory-operations.ts'

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly operation: RoutedOperation
  readonly query: readonly string[]
  /** Undefined if a body is not looked at. */
  readonly body?: {
    readonly fields: readonly string[]
    /** Whether a request without one is complete (Memory Stores API §1.8). */
    readonly optional: boolean
  }
  /** Whether a request must name the beta of the Memory Stores API (§1.5). */
  readonly beta: boolean
}

const STORES = '/v1/memory_stores'
const STORE = `${STORES}/:memory_store_id`
const MEMORIES = `${STORE}/memories`
const MEMORY = `${MEMORIES}/:memory_id`
const VERSIONS = `${STORE}/memory_versions`
const VERSION = `${VERSIONS}/:memory_version_id`
const SESSIONS = '/v1/gitlocket/sessions'

export const routes: readonly Route[] = [
  post(STORES, onHost(host.createStore)),
  get(STORES, onHost(host.listStores)),
  get(STORE, onHost(host.retrieveStore)),
  post(STORE, onHost(host.updateStore)),
  post(`${STORE}/archive`, onHost(host.archiveStore)),
  remove(STORE, onHost(host.deleteStore)),

  post(MEMORIES, inStore(memories.createMemory)),
  get(MEMORIES, inStore(memories.listMemories)),
  get(MEMORY, inStore(memories.retrieveMemory)),
  post(MEMORY, inStore(memories.updateMemory)),
  remove(MEMORY, inStore(memories.deleteMemory)),

  get(VERSIONS, inStore(memories.listVersions)),
  get(VERSION, inStore(memories.retrieveVersion)),
  post(`${VERSION}/redact`, inStore(memories.redactVersion)),

  // Ours: no SDK sends the header of a beta here.
  { ...post(SESSIONS, onHost(host.createSession)), beta: false },
  { ...remove(`${SESSIONS}/:session_id`, onHost(host.endSession)), beta: false },
  { ...post('/v1/gitlocket/memory_tool', onHost(runMemoryTool)), beta: false },
]

function get(path: string, operation: RoutedOperation): Route {
  return { method: 'GET', path, operation, query: fieldsOutside(path, operation), beta: true }
}

function remove(path: string, operation: RoutedOperation): Route {
  return { ...get(path, operation), method: 'DELETE' }
}

/** The view is in the query. */
function post(path: string, operation: RoutedOperation): Route {
  const all = fieldsOutside(path, operation)
  const fields = all.filter((name) => name !== 'view')
  const query = all.filter((name) => name === 'view')
  const body = { fields, optional: fields.length === 0 }
  return { method: 'POST', path, operation, query, body, beta: true }
}

function fieldsOutside(path: string, { fields }: RoutedOperation): readonly string[] {
  return fields.filter((name) => !path.includes(`:${name}`))
}
