// The library: explicit named exports, nothing else.

export { StoreError } from './errors.ts'
export type { ErrorCode, ErrorDetails } from './errors.ts'
export type { Role } from './format/directory.ts'
export type { Actor, ActorType, Operation } from './format/record.ts'
export type { Settings } from './format/settings.ts'
export type { StorageStatus } from './git/object-store.ts'
export { formatIdentity, generateIdentity, parseIdentity } from './keys/identity.ts'
export type { Identity } from './keys/identity.ts'
export type { Change } from './store/changes.ts'
export type { Author } from './store/commit.ts'
export type { DirectoryListing } from './store/listing.ts'
export { MemoryStore } from './store/memory-store.ts'
export type {
  Applied,
  Memory,
  MemoryInfo,
  StoreStatus,
  VerifyReport,
} from './store/memory-store.ts'
export { createStore, openStore } from './store/open.ts'
export type { CreateOptions, OpenOptions } from './store/open.ts'
export type { VerifyOptions } from './store/verify.ts'
export type { Version, VersionFilter, VersionPage } from './store/versions.ts'
