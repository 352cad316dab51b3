// The slow reference decoder of docs/FORMAT.md: a bare repository and one secret in, the whole
// verified store out as plain values. Written from the document alone; imports nothing from src/.

import { verifyContents } from './contents.ts'
import type { DetailRow } from './detail.ts'
import type { Directory } from './directory.ts'
import { decodeKeyring } from './keyring.ts'
import { parseStoreFile } from './public-files.ts'
import type { Actor, Operation, RecordKind, RedactReason } from './record.ts'
import { ensure } from './refusal.ts'
import { openRepository } from './repository.ts'
import type { NamedRow } from './rows.ts'
import type { Settings } from './settings.ts'
import { readRootBlob, verifyTrail } from './trail.ts'
import { type Secret, unlock } from './unlock.ts'

/** One row of a change, or, without operation, one target of a redaction. Ids are hex. */
export interface RowView {
  readonly memoryId: string
  readonly versionId: string
  readonly base: string
  readonly operation: Operation | undefined
  /** Whether the version is in R; then the rest is absent. */
  readonly redacted: boolean
  readonly path?: string
  readonly note?: string
  readonly size?: number
  readonly sha256?: string
}

export interface CommitView {
  readonly oid: string
  readonly kind: RecordKind
  readonly height: number
  readonly time: number
  readonly actor: Actor | undefined
  readonly session: string | undefined
  readonly reason: RedactReason | undefined
  readonly deviceId: string
  readonly sequence: number
  readonly rows: readonly RowView[]
}

export interface MemoryView {
  readonly memoryId: string
  readonly versionId: string
  readonly content: string
  readonly created: number
}

export interface StoreView {
  readonly storeId: string
  /** undefined for an auditor. */
  readonly settings: Settings | undefined
  /** From genesis to the head. */
  readonly commits: readonly CommitView[]
  /** Path to memory at the head; empty for an auditor. */
  readonly memories: ReadonlyMap<string, MemoryView>
  readonly redacted: ReadonlySet<string>
  readonly directory: Directory
}

/** Opens, verifies and reads the closed store in a bare repository; throws `kind: sentence`. */
export function readStore(repositoryDirectory: string, secret: Secret): StoreView {
  const repository = openRepository(repositoryDirectory)
  const headTree = /^tree ([0-9a-f]{40})\n/.exec(
    Buffer.from(repository.read('commit', repository.head)).toString('latin1'),
  )?.[1]
  ensure(headTree !== undefined, 'commit_malformed', 'The head names no tree')
  const storeId = parseStoreFile(readRootBlob(repository, headTree, 'store.json'))
  const keyring = decodeKeyring(readRootBlob(repository, headTree, 'keyring'))
  const epochs = new Map(unlock(keyring, storeId, secret).map((epoch) => [epoch.kid, epoch]))
  const trail = verifyTrail(repository, { storeId, seed: keyring.seed, epochs })
  const { details, memories, settings } = verifyContents(repository, storeId, trail)
  const commits = trail.commits.map(({ oid, record, rows: named }) => {
    const { kind, height, time, actor, session, reason, deviceId, sequence } = record
    const rows = named.map((row, index) =>
      viewRow(row, details.get(oid)?.get(index), trail.redacted),
    )
    return { oid, kind, height, time, actor, session, reason, deviceId, sequence, rows }
  })
  const views = [...memories].map(([memoryId, blob]) => {
    const { path, versionId, content, created } = blob
    return [path, { memoryId, versionId, content, created }] as const
  })
  const { redacted, directory } = trail
  return { storeId, settings, commits, memories: new Map(views), redacted, directory }
}

function viewRow(
  { memoryId, versionId, base, operation }: NamedRow,
  detail: DetailRow | undefined,
  redactions: ReadonlySet<string>,
): RowView {
  const view = { memoryId, versionId, base, operation, redacted: redactions.has(versionId) }
  if (detail === undefined) return view
  const { path, note, size, sha256 } = detail
  return { ...view, path, note, size, sha256 }
}
