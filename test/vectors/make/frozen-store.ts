// A whole store as it lies on a disk, made once by `npm run vectors` and frozen: two machines that
// wrote apart and synced, an auditor, a passphrase, epochs, a redaction.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Author,
  formatDeviceCard,
  formatIdentity,
  generateIdentity,
  type MemoryStore,
} from '../../../src/index.ts'
import { bareRemote, type Clone, firstClone, idOf, joinClone } from '../../support/clones.ts'
import { contentsOf } from '../../support/stores.ts'
import { copyDirectory } from '../../support/temporary.ts'
import { frozenDirectory, type FrozenStore } from '../frozen.ts'

const passphrase = 'correct horse battery é'
const by = (id: string, reason?: string): Author => {
  const author = { actor: { type: 'session', id }, session: id } as const
  return reason === undefined ? author : { ...author, reason }
}

/** Writes the store and what it must read as. */
export async function writeFrozenStore(): Promise<void> {
  const remote = bareRemote()
  const first = await firstClone(remote)
  const { store } = first
  const [reader, auditor] = [await generateIdentity(), await generateIdentity()]
  await administer(store, formatDeviceCard(reader, { name: 'Zoë’s tablet' }), 'reader')
  await administer(store, formatDeviceCard(auditor), 'auditor')
  await write(store)
  await store.as(by('founder')).sync()
  const second = await joinClone(first, remote, { deviceName: 'build server' })
  await apart(store, second.store)
  await second.store.as(by('second')).sync()
  await store.as(by('founder')).sync()
  await enrol(first, remote)
  await erase(store)
  await store.remotes.remove('origin')
  const { storeId, headFingerprint, commits } = await store.status()
  const frozen: FrozenStore = {
    storeId,
    owner: formatIdentity(first.place.identity),
    writer: formatIdentity(second.place.identity),
    reader: formatIdentity(reader),
    auditor: formatIdentity(auditor),
    passphrase,
    recoveryKey: first.place.recoveryKey,
    commits,
    words: headFingerprint.join(' '),
    memories: await contentsOf(store),
  }
  await store.close()
  await second.store.close()
  keep(first.place.directory, frozen)
}

async function administer(store: MemoryStore, card: string, role: 'reader' | 'auditor') {
  await store.as(by('founder')).devices.add(card, role)
}

async function write(store: MemoryStore): Promise<void> {
  const me = store.as(by('agent-1', 'what the user told'))
  await me.settings.update({ name: 'frozen', metadata: { team: 'α' } })
  const many = Array.from({ length: 20 }, (_, index) => {
    return { type: 'create', path: `/many/${index}.md`, content: `number ${index}\n` } as const
  })
  await me.apply(many)
  await me.write('/notes.md', 'one\ntwo\nthree\n')
  await me.write('/schlüssel.md', 'the key is hunter2\n')
  await me.write('/large.md', 'all work and no play\n'.repeat(3000))
  await me.apply([{ type: 'rename', path: '/many/3.md', to: '/few/three.md' }])
  await me.apply([{ type: 'delete', path: '/many/4.md' }])
  await me.keys.changePassphrase(passphrase)
}

/** Both change notes.md, and then who may open the store. */
async function apart(store: MemoryStore, other: MemoryStore): Promise<void> {
  await store.as(by('agent-1')).write('/notes.md', 'one\nTWO\nthree\n')
  await store.as(by('founder')).keys.rotate()
  await other.as(by('agent-2')).write('/notes.md', 'one\ntwo\nTHREE\n')
  const newcomer = await generateIdentity()
  const { deviceId } = await other
    .as(by('second'))
    .devices.add(formatDeviceCard(newcomer), 'writer')
  await other.as(by('second')).devices.remove([deviceId])
}

/** A machine that the passphrase admits, within a quota. */
async function enrol(first: Clone, remote: string): Promise<void> {
  const { store } = first
  const me = store.as(by('founder'))
  await me.keys.setPassphraseQuota(3)
  await me.sync()
  const identity = await generateIdentity()
  const url = `${remote}#${store.id}`
  const third = await joinClone(first, url, { identity, passphrase, deviceName: '' })
  await third.store.close()
  await me.sync()
  await me.devices.rename(idOf(third), 'container 1')
}

async function erase(store: MemoryStore): Promise<void> {
  const me = store.as(by('founder'))
  await me.write('/schlüssel.md', 'the key is elsewhere\n')
  await me.redact({ select: { matching: /hunter2/ }, reason: 'leaked_secret' })
  await store.maintenance.compact()
}

/** Without what a device keeps for itself. */
function keep(directory: string, frozen: FrozenStore): void {
  rmSync(frozenDirectory, { recursive: true, force: true })
  mkdirSync(frozenDirectory, { recursive: true })
  for (const name of readdirSync(directory)) {
    if (name !== 'gitlocket')
      copyDirectory(join(directory, name), join(frozenDirectory, 'store', name))
  }
  const text = `${JSON.stringify(frozen, undefined, 2)}\n`
  writeFileSync(join(frozenDirectory, 'store.json'), text)
}
