// The store as a whole: the overview that the frame of the page shows, the proofs, its remotes and
// a sync, its settings, and the guard, which refuses texts that seem to hold a secret.

import { z } from 'zod'
import type { MemberRole } from '../../format/directory.ts'
import { pairsOf } from '../../format/settings.ts'
import { contentBytesFormatMax, memoriesMax } from '../../limits.ts'
import {
  allowedTexts,
  findRefused,
  isGuardOn,
  secretGuard,
  withAllowed,
  withGuard,
} from '../../store/guard/guard.ts'
import type { RemoteStatus } from '../../store/sync/remote-state.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { Access } from '../operation.ts'
import { hash, managing, reading, reasonField, short, writing } from './operation.ts'

/** For an auditor, the name and everything else that an auditor cannot see is empty. */
export interface Overview {
  readonly storeId: string
  readonly name: string
  readonly description: string
  readonly audience: 'member' | 'auditor'
  readonly access: Access
  readonly archivedAt: number | undefined
  readonly deviceId: string
  readonly deviceName: string
  /** Undefined for a device that was removed. */
  readonly role: MemberRole | undefined
  /** The newest commit, 40 hex digits, and its twelve words. All up to it is verified. */
  readonly head: string
  readonly headFingerprint: readonly string[]
  /** Undefined as long as the history has not been asked for. */
  readonly commits: number | undefined
  readonly memories: number
  readonly contentBytes: number
  /** `unsent`: commits that it lacked when it was last seen; undefined if it was never seen. */
  readonly remotes: readonly (Pick<RemoteStatus, 'name' | 'url'> &
    Partial<Pick<RemoteStatus, 'unsent' | 'syncedAt'>>)[]
  /** Whether texts with what seems to be a secret are refused. */
  readonly guard: boolean
}

/** A live memory whose text the guard would refuse. It names no text. */
export interface GuardFinding {
  readonly memoryId: string
  readonly path: string
  /** The kind of secret, and the 1-based line, if it has one. */
  readonly rule: string
  readonly line: number | undefined
}

export const storeOperations = {
  'store.overview': reading({}, async ({ store, access }): Promise<Overview> => {
    const status = await store.summary()
    const { settings, remotes, deviceName = '' } = status
    return {
      storeId: status.storeId,
      name: settings.name,
      description: settings.description,
      audience: 'member',
      access,
      archivedAt: settings.archivedAt,
      deviceId: status.deviceId,
      deviceName,
      role: status.role,
      head: status.head,
      headFingerprint: status.headFingerprint,
      commits: status.commits,
      memories: status.memories,
      contentBytes: status.contentBytes,
      remotes: remotes.map(({ name, url, unsent, syncedAt }) => ({ name, url, unsent, syncedAt })),
      guard: isGuardOn(settings),
    }
  }),

  'sync.remotes': reading({}, async ({ store }) => ({ remotes: (await store.summary()).remotes })),

  /** Also what readers may: what it takes over changes their copy alone. */
  'sync.run': writing(
    'a sync',
    { remote: short.optional() },
    async ({ writer, remoteAccess, work }, { remote }) => {
      const { progress } = work
      const transfer = ({
        done,
        total,
      }: {
        readonly done: number
        readonly total?: number | undefined
      }) => {
        if (total !== undefined) progress?.(done, total)
      }
      return writer().sync({ ...work, access: remoteAccess, remote, transfer })
    },
  ),

  'remotes.add': managing(
    'the addition of remotes',
    { name: short, url: short },
    async ({ store }, { name, url }) => {
      await store.remotes.add(name, url)
      return {}
    },
  ),

  'remotes.remove': managing(
    'the removal of remotes',
    { name: short },
    async ({ store }, { name }) => {
      await store.remotes.remove(name)
      return {}
    },
  ),

  'settings.show': reading({}, async ({ store }) => {
    const { settings, createdAt, updatedAt } = await store.info()
    const { name, description, archivedAt, limits } = settings
    const metadata = pairsOf(settings.metadata, 'users')
    const [guard, allowed] = [isGuardOn(settings), allowedTexts(settings)]
    return {
      name,
      description,
      metadata,
      archivedAt,
      limits,
      createdAt,
      updatedAt,
      guard,
      allowed,
    }
  }),

  'settings.update': managing(
    'the change of settings',
    {
      name: short.optional(),
      description: short.optional(),
      contentBytes: z.int().min(1).max(contentBytesFormatMax).optional(),
      memories: z.int().min(1).max(memoriesMax).optional(),
      guard: z.boolean().optional(),
      ...reasonField,
    },
    async ({ writer }, { reason, name, description, contentBytes, memories, guard }) => {
      const { commit } = await writer(reason).settings.update(({ limits, metadata }) => ({
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        limits: {
          contentBytes: contentBytes ?? limits.contentBytes,
          memories: memories ?? limits.memories,
        },
        metadata: guard === undefined ? metadata : withGuard(metadata, guard),
      }))
      return { commit }
    },
  ),

  'guard.allow': managing(
    'the decision to let a text through',
    { sha256: hash, isAllowed: z.boolean(), ...reasonField },
    async ({ writer }, { reason, sha256, isAllowed }) => {
      const { commit } = await writer(reason).settings.update(({ metadata }) => ({
        metadata: withAllowed(metadata, sha256, isAllowed),
      }))
      return { commit }
    },
  ),

  'guard.check': reading({}, async ({ store, work }) => {
    const { memories } = await store.history.state(undefined, work)
    const allowed = allowedTexts((await store.info()).settings)
    const findings: GuardFinding[] = []
    const slice = new TimeSlice(work.signal, BATCH)
    for (const [index, { memoryId }] of memories.entries()) {
      const memory = await store.memory(memoryId)
      // It has been deleted since.
      if (memory === undefined) continue
      const { path } = memory
      const refused = await findRefused(secretGuard, memory, () => undefined, allowed)
      for (const { rule, line } of refused?.findings ?? []) {
        findings.push({ memoryId, path, rule, line: line === 0 ? undefined : line })
      }
      if (!slice.isOver()) continue
      work.progress?.(index, memories.length)
      await slice.next()
    }
    return { findings }
  }),
}

/** Memories that are read before progress is told. */
const BATCH = 64
