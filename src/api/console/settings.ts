// Name, description and limits of the store, and the guard: whether texts with what seems to be a
// secret are refused, and which memories hold such a text already.

import { z } from 'zod'
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
import { TimeSlice } from '../../time-slice.ts'
import { hash, nothing, reasonField, short } from './fields.ts'
import { consoleOperation } from './operation.ts'

/** A live memory whose text the guard would refuse. It names no text. */
export interface GuardFinding {
  readonly memoryId: string
  readonly path: string
  /** The kind of secret, and the 1-based line, if it has one. */
  readonly rule: string
  readonly line: number | undefined
}

export const settingsOperations = {
  'settings.show': consoleOperation({
    name: 'the settings',
    effect: 'read',
    input: nothing,
    run: async ({ store }) => {
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
    },
  }),

  'settings.update': consoleOperation({
    name: 'the change of settings',
    effect: 'manage',
    input: z.strictObject({
      name: short.optional(),
      description: short.optional(),
      contentBytes: z.int().min(1).max(contentBytesFormatMax).optional(),
      memories: z.int().min(1).max(memoriesMax).optional(),
      guard: z.boolean().optional(),
      ...reasonField,
    }),
    run: async ({ writer }, { reason, name, description, contentBytes, memories, guard }) => {
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
  }),

  'guard.allow': consoleOperation({
    name: 'the decision to let a text through',
    effect: 'manage',
    input: z.strictObject({ sha256: hash, isAllowed: z.boolean(), ...reasonField }),
    run: async ({ writer }, { reason, sha256, isAllowed }) => {
      const { commit } = await writer(reason).settings.update(({ metadata }) => ({
        metadata: withAllowed(metadata, sha256, isAllowed),
      }))
      return { commit }
    },
  }),

  'guard.check': consoleOperation({
    name: 'the check of the guard',
    effect: 'read',
    input: nothing,
    run: async ({ store, work }) => {
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
    },
  }),
}

/** Memories that are read before progress is told. */
const BATCH = 64
