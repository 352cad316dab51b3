// Stores with grants (FORMAT §12) in the clones of others: the versions of a holder arrive, even in
// a merge and in a clone that opens from its cache; late ones are left out; an auditor sees all.

import { beforeEach, expect, test } from 'vitest'
import { formatId } from '../../../../src/format/id.ts'
import type { Identity } from '../../../../src/keys/identity.ts'
import { auditStore } from '../../../../src/store/audit/audit.ts'
import { type Clone, joinClone } from '../../../support/clones.ts'
import { failureOf } from '../../../support/faulty-remotes.ts'
import type { Forge } from '../../../support/forge.ts'
import { fresh } from '../../../support/forged-clones.ts'
import { writeForged } from '../../../support/forged-disk.ts'
import { begins, byHolder, ends, holder, notAfter } from '../../../support/forged-grants.ts'
import { branchOf } from '../../../support/hostile-remotes.ts'
import { nextRow, standardHistory } from '../../../support/standard-forge.ts'
import { author, contentsOf, reopen } from '../../../support/stores.ts'
import { temporaryDirectory } from '../../../support/temporary.ts'

let forge: Forge
let auditor: Identity
let clone: Clone
let remote: string

beforeEach(async () => {
  const standard = await standardHistory('with a grant')
  ;({ forge } = standard)
  auditor = await forge.join('auditor')
  forge.grants([begins(holder)])
  remote = `${temporaryDirectory()}/remote.git`
  await writeForged(forge, remote)
  const identity = standard.writer
  const unused = { directory: '', stateDirectory: '', recoveryKey: '', identity }
  clone = await joinClone({ place: unused }, remote, { identity })
})

function sync(name = 'origin'): Promise<unknown> {
  return clone.store.as(author).sync({ remote: name })
}

test('versions of a holder reach a clone that opens from its cache', async () => {
  await clone.store.close()
  const store = await reopen(clone.place)
  forge.change([nextRow], byHolder)
  await writeForged(forge, remote)
  await store.as(author).sync()
  expect((await store.read('/a.md'))?.content).toBe(nextRow.content)
})

test('writes of a holder on a fork are merged, and all of it verifies', async () => {
  await clone.store.as(author).apply([{ type: 'create', path: '/mine.md', content: 'mine' }])
  forge.change([fresh], byHolder)
  await writeForged(forge, remote)
  await sync()
  expect(Object.keys(await contentsOf(clone.store)).toSorted()).toEqual([
    '/a.md',
    '/dir/b.md',
    '/mine.md',
    '/other.md',
  ])
  expect((await clone.store.status()).head).toBe(branchOf(remote))
  expect(await clone.store.maintenance.verify()).toMatchObject({ head: branchOf(remote) })
})

test('writes of a holder after the end are refused, from a cache too', async () => {
  forge.grants([ends(holder)])
  await writeForged(forge, remote)
  await sync()
  await clone.store.close()
  const store = await reopen(clone.place)
  forge.change([nextRow], byHolder)
  await writeForged(forge, remote)
  expect(await failureOf(store.as(author).sync())).toMatchObject({ code: 'record_device' })
  expect((await store.read('/a.md'))?.content).toBe('alpha, again\n')
})

test('writes of a holder on a fork without the end are left out', async () => {
  const stick = `${temporaryDirectory()}/stick.git`
  const late = forge.fork()
  late.change([nextRow], byHolder)
  await writeForged(late, stick)
  await clone.store.remotes.add('stick', stick)
  await sync('stick')
  expect((await clone.store.read('/a.md'))?.content).toBe(nextRow.content)
  forge.grants([ends(holder)])
  await writeForged(forge, remote)
  await sync()
  expect((await clone.store.read('/a.md'))?.content).toBe('alpha, again\n')
  expect((await clone.store.status()).head).toBe(branchOf(remote))
})

test("an audit lists the grant, its granter, its holder's writes, and its end", async () => {
  forge.change([nextRow], byHolder)
  forge.grants([ends(holder)])
  await writeForged(forge, remote)
  await sync()
  await clone.store.close()
  const stateDirectory = temporaryDirectory()
  const { directory } = clone.place
  const { entries } = await auditStore({ directory, stateDirectory, identity: auditor })
  const grantedBy = formatId('device', forge.founder.deviceId)
  const grantId = formatId('device', forge.grantIdOf(holder.key))
  const grant = { grantId, grantedBy, role: 'writer', expiresAt: notAfter }
  expect(entries.slice(-3)).toMatchObject([
    { kind: 'grants', deviceId: grantedBy, grants: [{ ...grant, isEnd: false }] },
    { kind: 'change', deviceId: grantId, grantedBy, isRecovery: false, grants: [] },
    { kind: 'grants', grants: [{ ...grant, isEnd: true }] },
  ])
})
