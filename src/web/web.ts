// The entry `gitlocket/web`: explicit named exports, nothing else.

export { StoreError } from '../errors.ts'
export {
  memoryPrompt,
  memoryTool,
  memoryToolDescription,
  memoryToolHandlers,
  memoryToolSchema,
} from '../anthropic/memory-tool.ts'
export type { BegunAnew, ReplacedVersion } from '../store/sync/report.ts'
export { openRemote } from './open-remote.ts'
export type { RemoteKey, RemoteStoreOptions } from './open-remote.ts'
export type { RemoteStore, RemoteSync } from './remote-store.ts'
export type { SyncMode } from './pushes.ts'
export type { RemoteWriter } from './remote-writer.ts'
export type { HttpClient, HttpRequest, HttpResponse } from '../transport/client-wire.ts'
