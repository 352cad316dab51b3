// The routes of the server: which operation a method and a path mean, and which of its inputs
// travel in the query and in the body. All else that a request sends is ignored.

import { inStore, onHost, type RoutedAction } from '../api/hosted.ts'
import * as memories from '../api/memory-operations.ts'
import * as sessions from '../api/session-operations.ts'
import * as stores from '../api/store-operations.ts'
import * as versions from '../api/version-operations.ts'
import { runMemoryTool } from '../memory-tool/hosted-tool.ts'

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly operation: RoutedAction
  readonly query: readonly string[]
  /** Undefined if a body is not looked at. */
  readonly body?: {
    readonly fields: readonly string[]
    /** Whether a request without one is complete (Memory Stores API §1.8). */
    readonly optional?: boolean
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
const TOOL = '/v1/gitlocket/memory_tool'

const page = ['limit', 'page']
const times = ['created_at[gte]', 'created_at[lte]']
const authors = ['api_key_id', 'session_id', 'service_account_id']
const storeFields = ['name', 'description', 'metadata']

export const routes: readonly Route[] = [
  post(STORES, onHost(stores.createStore), storeFields),
  get(STORES, onHost(stores.listStores), ['include_archived', ...times, ...page]),
  get(STORE, onHost(stores.retrieveStore)),
  post(STORE, onHost(stores.updateStore), storeFields),
  act(`${STORE}/archive`, onHost(stores.archiveStore)),
  remove(STORE, onHost(stores.deleteStore)),

  post(MEMORIES, inStore(memories.createMemory), ['path', 'content'], ['view']),
  get(MEMORIES, inStore(memories.listMemories), ['path_prefix', 'depth', 'view', ...page]),
  get(MEMORY, inStore(memories.retrieveMemory), ['view']),
  post(MEMORY, inStore(memories.updateMemory), ['content', 'path', 'precondition'], ['view']),
  remove(MEMORY, inStore(memories.deleteMemory), ['expected_content_sha256']),

  get(VERSIONS, inStore(versions.listVersions), [
    'memory_id',
    'operation',
    ...authors,
    ...times,
    'view',
    ...page,
  ]),
  get(VERSION, inStore(versions.retrieveVersion), ['view']),
  act(`${VERSION}/redact`, inStore(versions.redactVersion)),

  // Ours: no SDK sends the header of a beta here.
  { ...post(SESSIONS, onHost(sessions.createSession), ['resources', 'expires_in']), beta: false },
  { ...remove(`${SESSIONS}/:session_id`, onHost(sessions.endSession)), beta: false },
  { ...post(TOOL, onHost(runMemoryTool), ['input', 'memory_store_id']), beta: false },
]

function get(path: string, operation: RoutedAction, query: readonly string[] = []): Route {
  return { method: 'GET', path, operation, query, beta: true }
}

function remove(path: string, operation: RoutedAction, query: readonly string[] = []): Route {
  return { method: 'DELETE', path, operation, query, beta: true }
}

function post(
  path: string,
  operation: RoutedAction,
  fields: readonly string[],
  query: readonly string[] = [],
): Route {
  return { method: 'POST', path, operation, query, body: { fields }, beta: true }
}

/** The fields in the path. */
function act(path: string, operation: RoutedAction): Route {
  const body = { fields: [], optional: true }
  return { method: 'POST', path, operation, query: [], body, beta: true }
}
