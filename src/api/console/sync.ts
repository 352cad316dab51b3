// Where the store is synced to, and a sync.

import { z } from 'zod'
import { nothing, short } from './fields.ts'
import { consoleOperation } from './operation.ts'

export const syncOperations = {
  'sync.remotes': consoleOperation({
    name: 'the list of remotes',
    effect: 'read',
    input: nothing,
    run: async ({ store }) => ({ remotes: (await store.summary()).remotes }),
  }),

  /** Also what readers may: what it takes over changes their copy alone. */
  'sync.run': consoleOperation({
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
  }),

  'remotes.add': consoleOperation({
    name: 'the addition of remotes',
    effect: 'manage',
    input: z.strictObject({ name: short, url: short }),
    run: async ({ store }, { name, url }) => {
      await store.remotes.add(name, url)
      return {}
    },
  }),

  'remotes.remove': consoleOperation({
    name: 'the removal of remotes',
    effect: 'manage',
    input: z.strictObject({ name: short }),
    run: async ({ store }, { name }) => {
      await store.remotes.remove(name)
      return {}
    },
  }),
}
