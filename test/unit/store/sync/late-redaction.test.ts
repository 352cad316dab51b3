// Redactions by a removed owner that others have taken over before they knew of the removal (FORMAT
// §7.4): nothing is adopted silently, and the error explains how to continue.

import { expect, test } from 'vitest'
import type { Role } from '../../../../src/index.ts'
import {
  alone,
  admit,
  bareRemote,
  firstClone,
  headOf,
  idOf,
  joinClone,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { failureOf } from '../../../support/faulty-remotes.ts'
import { create, edit, redact } from '../../../support/hostile-remotes.ts'
import { author } from '../../../support/stores.ts'

test.each<Role>(['reader', 'writer'])(
  'a %s is told that a late redaction came, and goes on without it by one command',
  { tags: 'slow' },
  async (role) => {
    const remote = bareRemote()
    const a = await firstClone(remote)
    await create(a, '/notes.md', 'one\n')
    await edit(a, '/notes.md', 'two\n')
    await sync(a)
    const removed = await joinClone(a, remote)
    await syncAll([a, removed])
    const identity = await admit(a, role)
    await syncAll([a, removed])
    const other = await joinClone(a, remote, { identity })
    await a.store.as(author).devices.remove([idOf(removed)], alone)
    const { data: versions } = await removed.store.history.versions({
      path: '/notes.md',
      order: 'oldest',
    })
    await redact(removed, versions[0]?.versionId ?? '')
    await sync(removed)
    await sync(other)
    await sync(a)

    const failure = await failureOf(sync(other))
    expect(failure).toMatchObject({ code: 'merge_held' })
    expect(failure.message).toContain('A redaction here is by a device that was removed since')
    const { late } = await other.store.as(author).sync({ takeTheirs: true })
    expect(late).toMatchObject([{ kind: 'redact', deviceId: idOf(removed) }])
    expect(await headOf(other)).toBe(await headOf(a))
    await other.store.maintenance.verify()
  },
)
