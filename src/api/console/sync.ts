// Where the store is synced to, and a sync.

import { z } from 'zod'
import type { CareApi } from './contract-care.ts'
import { nothing, short } from './fields.ts'
import type { ConsoleOperation, OperationsOf } from './operation.ts'

const remotes: ConsoleOperation<'sync.remotes'> = {
  name: 'the list of remotes',
  effect: 'read',
  input: nothing,
  run: async ({ store }) => ({ remotes: (await store.summary()).remotes }),
}

/** Also what readers may: what it takes over changes their copy alone. */
const run: ConsoleOperation<'sync.run'> = {
  name: 'a sync',
  effect: 'write',
  input: z.strictObject({ remote: short.optional() }),
  run: async ({ writer, remoteAccess, work }, { remote }) => {
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
}

const add: ConsoleOperation<'remotes.add'> = {
  name: 'the addition of remotes',
  effect: 'manage',
  input: z.strictObject({ name: short, url: short }),
  run: async ({ store }, { name, url }) => {
    await store.remotes.add(name, url)
    return {}
  },
}

const remove: ConsoleOperation<'remotes.remove'> = {
  name: 'the removal of remotes',
  effect: 'manage',
  input: z.strictObject({ name: short }),
  run: async ({ store }, { name }) => {
    await store.remotes.remove(name)
    return {}
  },
}

export const syncOperations: OperationsOf<
  Pick<CareApi, 'sync.remotes' | 'sync.run' | 'remotes.add' | 'remotes.remove'>
> = { 'sync.remotes': remotes, 'sync.run': run, 'remotes.add': add, 'remotes.remove': remove }
