// Redactions by a removed owner that others have taken over before they knew of the removal (FORMAT
// §7.4): nothing is taken over silently, and the error says how to continue.

import { expect, test } from 'vitest'
import type { Role } from '../../../../src/index.ts'
import {
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

test.each<[role: Role, mayKeep: boolean]>([
  ['reader', false],
  ['writer', true],
])(
  'a %s is told that a late redaction came, and how to go on without it',
  { tags: 'slow' },
  async (role, mayKeep) => {
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
    await a.store.as(author).devices.remove([idOf(removed)])
    const { data: versions } = await removed.store.history.versions({
      path: '/notes.md',
      order: 'oldest',
    })
    await redact(removed, versions[0]?.versionId ?? '')
    await sync(removed)
    await sync(other)
    await sync(a)

    const failure = await failureOf(sync(other))
    expect(failure).toMatchObject({ code: 'record_late' })
    const { message } = failure
    expect(message).toContain('may have redacted versions here')
    expect(message).toContain('join the store again in another directory')
    expect(message.includes('change something yourself')).toBe(mayKeep)
    const anew = await joinClone(a, remote, { identity })
    expect(await headOf(anew)).toBe(await headOf(a))
  },
)
