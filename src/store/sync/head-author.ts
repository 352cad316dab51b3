// The author of a head, judged by what this clone knows. A clone without its early history asks
// before it fetches more of that: a reader, who has the group key, could otherwise work with the
// host and have each clone fetch and verify everything, for a head that is plainly forged.

import { findDevice } from '../../format/directory.ts'
import { verifyRecordSignature } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { checkAuthor, findKeyring, findRecovery } from '../access/authority.ts'
import { readCommitBytes, verifyDecodedCommit } from '../commits/decoded-commit.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import { epochsOf } from './remote-head.ts'
import type { Peer } from './remote-state.ts'

/**
 * Throws a code of verification if the head is refused whatever its history may be. An id is the
 * hash of a key, so that a signature that is false under a known id remains so. The rights of a
 * device are certain where the head has the keyring that is in force here: under another one it may
 * have another role, or an unknown author may have been admitted. A grant for changes may have been
 * begun there, or begun again in another role.
 */
export async function checkHeadAuthor(
  { session, options }: Pick<Peer, 'session' | 'options'>,
  { head, incoming }: { readonly head: Oid; readonly incoming: ObjectSource },
): Promise<void> {
  const { storeId } = session
  const epochs = await epochsOf({ session, objects: incoming }, head, options.signal)
  const bytes = readCommitBytes(incoming, head)
  const commit = verifyDecodedCommit(storeId, epochs, head, bytes)
  const { record, epoch, body, signature } = commit
  const { keyring, grants } = await session.reading((now) => now)
  const { directory } = keyring
  const grant = grants.get(record.deviceId)
  const member = findDevice(directory, record.deviceId) ?? findRecovery(directory, record.deviceId)
  const key = member?.signingKey ?? grant?.key
  const checkSignature = (publicKey: Uint8Array): void => {
    verifyRecordSignature(epoch, body, signature, publicKey)
  }
  if (key !== undefined) checkSignature(key)
  const mayBeGrant = member === undefined && record.kind === 'change'
  if (mayBeGrant || findKeyring(incoming, head) !== keyring.oid) return
  // That a device was forked may not be known there.
  const past = { keyring, deviceOf: () => undefined, grantOf: () => grant }
  checkAuthor(past, { record, checkSignature }, undefined)
}
