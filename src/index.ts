// The library: explicit named exports, nothing else.

export type { Progress, WorkOptions } from './async.ts'
export type { Clock } from './clock.ts'
export type { KemKeyPair } from './crypto/recipient.ts'
export type { Random } from './crypto/random.ts'
export type { SigningKeyPair } from './crypto/signature.ts'
export type { ProcessOwner } from './disk/process-owner.ts'
export { StoreError } from './errors.ts'
export type {
  EnvelopeCode,
  ErrorCode,
  ErrorDetails,
  DoubtfulRecord,
  DoubtfulTimes,
  HeadState,
  OpenCode,
  RemoteCode,
  RequestCode,
  StorageCode,
  VerificationCode,
} from './errors.ts'
export { formatDeviceCard } from './format/device-card.ts'
export type { DeviceKeys } from './format/device-keys.ts'
export type { AdmittedBy, Givers, MemberRole, Role } from './format/directory.ts'
export type {
  Actor,
  ActorType,
  GrantRole,
  Operation,
  RecordKind,
  RedactReason,
} from './format/change-record.ts'
export type { Settings } from './format/settings.ts'
export type {
  CompactOptions,
  ObjectAmount,
  PackStatus,
  StorageStatus,
  Reclaimable,
} from './git/object-store.ts'
export type { Remote } from './git/exchange.ts'
export type { Page, PageQuery, Paged } from './page.ts'
export { openDefaultStore } from './home/open-default-store.ts'
export type { DefaultStoreOptions } from './home/open-default-store.ts'
export type { Variables } from './home/places.ts'
export {
  formatIdentity,
  generateIdentity,
  generateOperatorSecret,
  parseIdentity,
} from './keys/identity.ts'
export type { Identity } from './keys/identity.ts'
export type { ResidueOptions, ResidueReport, Residue } from './store/redaction/residue.ts'
export { auditStore } from './store/audit/audit.ts'
export type { Audit, AuditOptions } from './store/audit/audit.ts'
export type {
  AccessChange,
  AuditedGrant,
  AuditedVersion,
  AuditEntry,
} from './store/audit/audit-trail.ts'
export { verifyCertificate } from './store/audit/verify-certificate.ts'
export type { CertificateTrust } from './store/audit/verify-certificate.ts'
export type { LeftOut } from './store/audit/left-out.ts'
export type {
  AccessAction,
  AccessEvent,
  Authorship,
  ReportedDevice,
} from './store/report/access-events.ts'
export type {
  AuditReport,
  ReportedRedaction,
  ReportOptions,
  WriteCount,
} from './store/report/audit-report.ts'
export type { PendingDevice } from './store/redaction/acknowledgement.ts'
export type { BlameLine, BlameOptions } from './store/history/blame.ts'
export type { RedactedVersion, RedactionCertificate } from './store/redaction/certificate.ts'
export type { IssuedCertificate, PastRedaction } from './store/redaction/past-redactions.ts'
export type { BuiltOnRedacted } from './store/redaction/built-on.ts'
export type { ChangeWriter } from './store/change-writer.ts'
export type { Change } from './store/changes/changes.ts'
export type { Author } from './store/commits/commit-context.ts'
export type {
  DeviceAdded,
  DevicesRemoved,
  KeysChanged,
  KeysRotated,
  RecoveryKeyMade,
  RecoveryKeyOptions,
  RightsChanged,
  SecretsReplaced,
} from './store/devices/device-changes.ts'
export type { EndingGrant } from './store/devices/ending-grants.ts'
export type { Device, DeviceEvent } from './store/devices/devices.ts'
export { secretGuard } from './store/guard/guard.ts'
export type { ContentGuard, Finding } from './store/guard/guard.ts'
export type {
  Difference,
  DifferenceOptions,
  PointDifference,
} from './store/history/history-diff.ts'
export type { DirectoryListing } from './store/snapshot/listing.ts'
export type { ListedMemory, MemoryPrefix, MemoryQuery } from './store/memories.ts'
export type { SearchHit, SearchQuery } from './store/search/search-query.ts'
export type { MemoryStore } from './store/memory-store.ts'
export type { StoreDevices } from './store/store-devices.ts'
export type {
  GrantGiven,
  GrantRequest,
  GrantsEnded,
  GrantWriter,
  OnlineOptions,
  RightsChange,
  StoreGrants,
} from './store/store-grants.ts'
export type { HostCheck } from './store/grants/check-host.ts'
export type { Grant, GrantStatus } from './store/grants/grants.ts'
export type { GrantsReport } from './store/grants/publish.ts'
export type { HistoryFetchOptions } from './store/clone/fetch-all.ts'
export type { HistoryReader } from './store/history-reader.ts'
export type { StoreHandle } from './store/store-handle.ts'
export type { StoreHistory } from './store/store-history.ts'
export type { StoreMaintenance } from './store/store-maintenance.ts'
export type { StoreRemotes } from './store/store-remotes.ts'
export type { StoreChange, WatchOptions } from './store/watch.ts'
export type {
  DeviceWriter,
  KeyWriter,
  RemovalOptions,
  SettingsWriter,
  StoreWriter,
} from './store/store-writer.ts'
export type { Applied, AppliedChanges } from './store/changes/apply.ts'
export type { SettingsChange } from './store/devices/administration.ts'
export type {
  CompactReport,
  HistoryBeginning,
  StoreInfo,
  StoreStatus,
  VerifyReport,
} from './store/store-report.ts'
export type { MemoryInfo } from './store/snapshot/live-memory.ts'
export type { Memory } from './store/snapshot/live-memory.ts'
export { openStore } from './store/open.ts'
export { createStore } from './store/create.ts'
export type { CreatedStore, CreateOptions } from './store/create.ts'
export type {
  GuardOptions,
  OpenOptions,
  StoreEnvironment,
  StorePlaces,
} from './store/session/open-options.ts'
export type { PastView } from './store/history/past.ts'
export type { Point } from './store/history/points.ts'
export type { Redaction } from './store/redaction/redaction.ts'
export type {
  RedactionPlan,
  RedactionRequest,
  RedactionSelection,
} from './store/redaction/redaction-plan.ts'
export type { RestoreRequest, Revert, RollbackRequest } from './store/revert/restore.ts'
export type { LeftAlone, LeftReason, RevertStep } from './store/revert/revert-plan.ts'
export type { TextState } from './store/history/history-diff.ts'
export type { Expiry, ExpiryRule } from './store/changes/retention.ts'
export type { RevertOptions } from './store/revert/revert.ts'
export type { Secrets } from './store/devices/devices.ts'
export type { ResidualAccess } from './store/devices/residual-access.ts'
export type { OutcomeKind } from './store/merge/draft.ts'
export type { MergeOutcome } from './store/merge/plan.ts'
export type { Combination, Conflict, ConflictOptions } from './store/history/conflicts.ts'
export { joinStore } from './store/join.ts'
export { type GrantedOptions, openGranted } from './store/open-granted.ts'
export type { FirstContact, JoinOptions } from './store/clone/clone-remote.ts'
export type { ComparedState } from './store/snapshot/compared.ts'
export type { MemberOptions, MembersChanged } from './store/sync/sync.ts'
export type { LateChange, LateVersion } from './store/sync/refusals.ts'
export type { RemoteOptions } from './transport/remote-access.ts'
export type { Redo, StoreSyncOptions, SyncOptions } from './store/sync/report.ts'
export type { RemoteStatus } from './store/sync/remote-state.ts'
export type { NewDevice } from './store/sync/report.ts'
export type {
  BegunAnew,
  GrantChanges,
  GrantWork,
  NotWritten,
  NotWrittenVersion,
  RefusedCommit,
  ReplacedHead,
  ReplacedVersion,
  Sent,
  SettingsOutcome,
  SyncReport,
} from './store/sync/report.ts'
export { joinTrail, syncTrail } from './store/audit/trail.ts'
export type { TrailOptions } from './store/audit/trail.ts'
export type { UndoRequest } from './store/revert/undo.ts'
export type { VerifyOptions } from './store/verify/verify.ts'
export type {
  FullVersion,
  Version,
  VersionFilter,
  VersionWithInputs,
} from './store/history/versions.ts'
export type {
  CredentialSource,
  Credentials,
  ProcessEnvironment,
  RemoteAccess,
  TransferProgress,
} from './transport/remote-access.ts'
export type { ClockLeap } from './store/session/writer-clock.ts'
