// What a program gives the memory tool to work with: one store, or several as directories. Checked
// when it is given; what the stores say of themselves is asked for later.

import { StoreError } from '../errors.ts'
import { sessionInstructionsCharactersMax } from '../limits.ts'
import type { Access } from '../operations/operation.ts'
import type { ChangeWriter } from '../store/change-writer.ts'
import type { Author } from '../store/commits/commit-context.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { StoreHandle } from '../store/store-handle.ts'
import {
  checkMountName,
  checkMounts,
  chooseNames,
  type MountInfo,
  type ToolContext,
  type Use,
} from './mount.ts'

/** A store that the memory tool can work with: one on a disk or in RAM. */
export interface ToolStore extends StoreHandle {
  as(author: Author): ChangeWriter
}

/** One of several stores. */
export interface MemoryMount<Store extends ToolStore = MemoryStore> {
  readonly store: Store
  /** Its directory below `/memories`: one segment of a path. Else made of the store's name. */
  readonly mount?: string | undefined
  /** `read_only` refuses every command but `view`; the default is `read_write`. */
  readonly access?: Access | undefined
  /** Instructions to the model about the store, at most 4,096 characters; for `memoryPrompt`. */
  readonly instructions?: string | undefined
}

/** One store, which is `/memories` itself, or one to eight, each a directory of it. */
export type MemoryMounts<Store extends ToolStore = MemoryStore> =
  | Store
  | readonly MemoryMount<Store>[]

/** The given mounts, checked and copied. */
export interface Given<Store extends ToolStore> {
  readonly isOne: boolean
  readonly mounts: readonly MemoryMount<Store>[]
}

/** Throws `invalid_input` for stores that cannot be mounted together. */
export function checkGiven<Store extends ToolStore>(given: MemoryMounts<Store>): Given<Store> {
  if (!isSeveral(given)) return { isOne: true, mounts: [{ store: given }] }
  const mounts = given.map((mount) => ({ ...mount }))
  for (const { mount, instructions } of mounts) {
    if (mount !== undefined) checkMountName(mount)
    if (instructions !== undefined) checkInstructions(instructions)
  }
  // Names that are made of those of the stores clash with none, whatever they will be.
  const named = mounts.map(({ store, mount }) => ({ storeId: store.id, name: '', mount }))
  const names = chooseNames(named)
  checkMounts(named.map(({ storeId }, index) => ({ storeId, name: names[index] ?? '' })))
  return { isOne: false, mounts }
}

/** A given store, with the facts about its mount. */
export interface GivenMount<Store extends ToolStore> extends MountInfo {
  readonly store: Store
}

/** Asks the stores for their names. `access` limits that of all. */
export async function describeMounts<Store extends ToolStore>(
  { mounts }: Given<Store>,
  access: Access | undefined,
): Promise<readonly GivenMount<Store>[]> {
  const infos = await Promise.all(mounts.map(({ store }) => store.info()))
  const names = chooseNames(
    infos.map(({ storeId, settings }, index) => {
      return { storeId, name: settings.name, mount: mounts[index]?.mount }
    }),
  )
  return mounts.map(({ store, instructions, ...mount }, index): GivenMount<Store> => {
    const isFree = [access, mount.access].every((one = 'read_write') => one === 'read_write')
    return {
      store,
      name: names[index] ?? store.id,
      storeId: store.id,
      access: isFree ? 'read_write' : 'read_only',
      description: infos[index]?.settings.description ?? '',
      instructions,
      root: '/',
    }
  })
}

/** A mount that `me` writes to. */
export function mountOf<Store extends ToolStore, Me extends ChangeWriter>(
  given: GivenMount<Store>,
  me: Me,
): MountInfo & {
  readonly use: Use<ToolContext & { readonly store: Store; readonly me: Me }>
} {
  const { store, access } = given
  const context = { store, me, access }
  return { ...given, use: (work) => work(context) }
}

function isSeveral<Store extends ToolStore>(
  given: MemoryMounts<Store>,
): given is readonly MemoryMount<Store>[] {
  return Array.isArray(given)
}

function checkInstructions(text: unknown): void {
  const max = sessionInstructionsCharactersMax
  if (typeof text === 'string' && text.isWellFormed() && Array.from(text).length <= max) return
  throw new StoreError(
    'invalid_input',
    `Instructions must be a text of at most ${max} characters`,
    {
      details: { parameter: 'instructions', limit: max },
    },
  )
}
