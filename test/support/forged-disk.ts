// Puts forged histories into real repositories on disk, as anyone with write access to them would.

import { sealedFraming } from '../../src/crypto/aead.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import { newObject, type Oid } from '../../src/git/objects/object.ts'
import type { Evidence } from './verdict.ts'

/** Makes the repository, or moves its branch to another head, whatever that is. */
export async function writeForged(
  forge: Pick<Evidence, 'objects' | 'head'>,
  directory: string,
  head?: Oid,
): Promise<void> {
  const disk = systemDisk
  const exists = disk.stat(`${directory}/HEAD`) !== undefined
  const objects = exists
    ? await openDiskObjectStore({ directory, disk })
    : await createDiskObjectStore({ directory, disk })
  const missing = [...forge.objects].filter(([oid]) => objects.read(oid) === undefined)
  const added = missing.map(([, { type, body }]) =>
    type === 'blob' ? newObject('blob', sealedFraming(body)) : newObject(type, body),
  )
  await objects.exclusive(() =>
    objects.commit([{ objects: added, expected: objects.head, next: head ?? forge.head }]),
  )
  await objects.close()
}
