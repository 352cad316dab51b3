// What every part of the page may need: whose store this is, and the moment that is shown.

import { computed, signal } from '@preact/signals'
import type { MomentInfo, Overview, PendingReview } from '../../../operations/console/contract.ts'
import { atNow } from './address.ts'
import { forgetAtEnd } from './session.ts'

/** Undefined until the console has told. */
export const overview = signal<Overview | undefined>(undefined)

/** How many commits there are; undefined until that is known. */
export const commitCount = signal<number | undefined>(undefined)

/** The moment of the past that the whole page is of; undefined for now, and until it is found. */
export const moment = signal<MomentInfo | undefined>(undefined)

export const isPast = computed(() => atNow.value !== undefined)

/** Whether memories may be changed: not in the past, not for readers, not with `--read-only`. */
export const mayWrite = computed(() => {
  const { access, role, archivedAt } = overview.value ?? {}
  const isWriter = role === 'owner' || role === 'writer'
  return !isPast.value && access === 'read_write' && isWriter && archivedAt === undefined
})

/** Whether devices, settings and redactions are in this user's hands. */
export const mayManage = computed(() => {
  const { access, role } = overview.value ?? {}
  return !isPast.value && access === 'read_write' && role === 'owner'
})

/** Whether the drawer is open that has the views and the tree where the page is narrow. */
export const isDrawerOpen = signal(false)

/**
 * The commits at which a memory changed before and after the moment `at`, as far as the page knows
 * them; undefined if no memory is open. The address may already be of another moment.
 */
export const memorySteps = signal<
  | {
      readonly memoryId: string
      readonly at: string | undefined
      readonly before: string | undefined
      readonly after: string | undefined
    }
  | undefined
>(undefined)

/** What waits for a review; undefined until that is known, and for an auditor. */
export const pending = signal<PendingReview | undefined>(undefined)

/** The search: in RAM alone, since addresses are kept on disk. */
export const searchWords = signal('')

/** A message to the user, shown once, read out, and removed after a while. */
export const notice = signal<string | undefined>(undefined)

forgetAtEnd(() => {
  overview.value = undefined
  commitCount.value = undefined
  moment.value = undefined
  pending.value = undefined
  searchWords.value = ''
  notice.value = undefined
})
