// Name, description and limits of the store, and the guard: whether texts with what seems to be a
// secret are refused, and which memories hold such a text already.

import { z } from 'zod'
import { pairsOf } from '../../format/settings.ts'
import { contentBytesFormatMax, memoriesMax } from '../../limits.ts'
import { isGuardOn, secretGuard, withGuard } from '../../store/guard/guard.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { CareApi, GuardFinding } from './contract-care.ts'
import { nothing, reasonField, short } from './fields.ts'
import type { ConsoleOperation, OperationsOf } from './operation.ts'

const show: ConsoleOperation<'settings.show'> = {
  name: 'the settings',
  effect: 'read',
  input: nothing,
  run: async ({ store }) => {
    const { settings, createdAt, updatedAt } = await store.info()
    const { name, description, archivedAt, limits } = settings
    const metadata = pairsOf(settings.metadata, 'users')
    const guard = isGuardOn(settings)
    return { name, description, metadata, archivedAt, limits, createdAt, updatedAt, guard }
  },
}

const update: ConsoleOperation<'settings.update'> = {
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
}

/** Memories that are read before progress is told. */
const BATCH = 64

const check: ConsoleOperation<'guard.check'> = {
  name: 'the check of the guard',
  effect: 'read',
  input: nothing,
  run: async ({ store, work }) => {
    const { memories } = await store.history.state(undefined, work)
    const findings: GuardFinding[] = []
    const slice = new TimeSlice(work.signal, BATCH)
    for (const [index, { memoryId }] of memories.entries()) {
      const memory = await store.memory(memoryId)
      // It was deleted meanwhile.
      if (memory === undefined) continue
      const { path, content } = memory
      const found = await secretGuard(content, path)
      for (const { rule, line } of found) {
        findings.push({ memoryId, path, rule, line: line === 0 ? undefined : line })
      }
      if (!slice.isOver()) continue
      work.progress?.(index, memories.length)
      await slice.next()
    }
    return { findings }
  },
}

export const settingsOperations: OperationsOf<
  Pick<CareApi, 'settings.show' | 'settings.update' | 'guard.check'>
> = { 'settings.show': show, 'settings.update': update, 'guard.check': check }
