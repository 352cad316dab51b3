// The defects that a named test must notice, by test file. At most 155: those that would break what
// the store promises. The syncs are not listed: main.ts leaves out each of them alone.

import { engine } from './engine-list.ts'
import { grants } from './grants-list.ts'
import { always, type MutantList, never, swap, without } from './mutant.ts'

const keysAndFormat: MutantList = {
  'unit/crypto/aead.test.ts': [
    never('openBytes', '!sodium.memcmp', 'changed bit is refused, by the commitment or by the tag'),
    swap(
      'deriveMessageKey',
      ['contextLength(context), context', 'context'],
      'an envelope follows the format, re-made without libsodium',
    ),
  ],
  'attack/look-alike.test.ts': [
    swap(
      'passphraseIdentity',
      ['PASSPHRASE_LABEL, fromHex(seed)', 'PASSPHRASE_LABEL'],
      'is opened by none of the secrets, as the real one is: the passphrase',
    ),
  ],
  'unit/keys/keyring-damage.test.ts': [
    swap(
      'join',
      ['!equalBytes(epoch.contentKeyHash, hashC)', 'false'],
      'an archive of A with another hash of C is keyring_mismatch',
    ),
    always(
      'checkDistinct',
      'epochs.length',
      'current epoch among the older ones is keyring_mismatch',
    ),
    never('readDirectory', 'directory.number !==', 'another number outside is keyring_mismatch'),
    never('openDirectory', 'file.seed !== epoch.seed', 'and store_seed_mismatch with the keys'),
    never('checkKeyring', '!areEqual(slots', 'is keyring_slots, once everything is made again'),
  ],
  'attack/locked-out.test.ts': [
    never(
      'checkAuditedSlots',
      '!slots.some',
      'sealed to a key that no one has: that of an auditor',
    ),
  ],
  'attack/keyring.test.ts': [
    without(
      'checkGenesisDirectory',
      'checkKeys(founder)',
      'keyring_chain: a founder whose keys it has not signed',
    ),
  ],
  'attack/directory.test.ts': [
    swap(
      'checkRemovals',
      ['|| !isSameRemoval(before, after)', ''],
      'keyring_chain: a removal that names another record',
    ),
  ],
  'property/succession.test.ts': [
    always(
      'checkKeptEpoch',
      'isEqual(previous, kept)',
      'a step is accepted or refused alike, for one reason',
    ),
    swap(
      'checkEnrolment',
      ['|| !isEqual(previous, only)', ''],
      'a step is accepted or refused alike, for one reason',
    ),
  ],
  'vectors/vectors.test.ts': [
    never('readDevice', 'deviceIdOf(keys.signingKey)', "7, an id that is not the key's"),
    without('checkSignatures', 'verifyDeviceKeys(keys)', 'that the card alone has signed'),
  ],
  'unit/keys/keyring.test.ts': [
    never('checkCanJoin', 'findRemoved(', 'a new epoch never takes a removed device back'),
    never('withChanges', "role === 'owner'", 'a new epoch cannot remove the last owner'),
  ],
  'unit/format/row-ids.test.ts': [
    swap(
      'nameRows',
      ['idOf(VERSION_LABEL, index)', 'idOf(VERSION_LABEL, 0)'],
      'the index has two bytes, and every part of the record tells',
    ),
  ],
}

const verify: MutantList = {
  'attack/lost-rights.test.ts': [
    never(
      'verifyInOrder',
      'merging?.isLate === true',
      'record_after_revocation: a merge of what a removed owner wrote',
    ),
  ],
  'attack/keyring.test.ts': [
    never(
      'readKeyring',
      'record.keyringHash',
      'keyring_mismatch: one bit of it flipped after the record named its hash',
    ),
  ],
  'attack/history.test.ts': [
    swap(
      'checkPosition',
      ['|| toHexes(record.parents) !== toHexes(hashes)', ''],
      'T7: a record that claims another position is refused record_parents: another parent',
    ),
    never(
      'checkPosition',
      'record.height !== height',
      'is refused record_height: a smaller height',
    ),
    without('verifyInOrder', 'checkDeviceChain(', 'is refused record_sequence: a used number'),
    never(
      'checkDeviceChain',
      '!equalBytes(record.previous',
      `record_chain: another device's chain`,
    ),
    never('checkAuthor', 'record.sequence === 0', 'is refused record_sequence: number 0'),
  ],
  'attack/trees.test.ts': [
    swap(
      'snapshotAfter',
      ['!== tree) refuseTree(', "=== '') refuseTree("],
      'T12: a root tree with a fault is refused tree_mismatch: a file too many',
    ),
    swap(
      'checkPublicFiles',
      ['!equalBytes(bytes, constant)', 'bytes.length !== constant.length'],
      'public_file_mismatch: a README.md of the same length from genesis on',
    ),
  ],
  'attack/auditor.test.ts': [
    never(
      'readSettings',
      'record.settingsHash',
      'settings_mismatch, other settings than are named',
    ),
  ],
  'attack/merges.test.ts': [
    swap(
      'findBefore',
      ['row.base !== sides[0]?.versionId ||', ''],
      'that breaks a rule is refused row_base_mismatch: an older version as base',
    ),
    never('readRows', '!memories.has(memoryId)', 'row_missing: no row for what both changed'),
    swap(
      'checkRedactTarget',
      ['|| mergeContext.isElsewhere(row.versionId)', ''],
      'refused redact_target: a redaction of what only the other side has',
    ),
  ],
  'attack/rows.test.ts': [
    never('checkBase', 'row.base !== current.versionId', 'row_base_mismatch: an older base'),
    never(
      'readLive',
      '!live.some((one) => one.path === path)',
      'detail_mismatch: a deletion at another path',
    ),
    without('openRow', 'checkDetail(', 'detail_mismatch: a detail of another path'),
    without('openRow', 'checkDeletion(', 'detail_mismatch: a deletion with a text'),
    swap(
      'openMemory',
      ['memory.path === detail.path &&', ''],
      'memory_mismatch: a memory at another path',
    ),
  ],
  'attack/redaction.test.ts': [
    never('isRedacted', '!redacted', 'are refused detail_missing: detail and memory'),
    swap(
      'checkRedactTarget',
      ['(memoryId !== row.memoryId && !isEarlier) ||', ''],
      'redaction that may not be is refused redact_target: a version of another memory',
    ),
  ],
}

const redactionAndPurge: MutantList = {
  'attack/redaction-replay.test.ts': [
    without(
      'verifyRewritten',
      'checkBelow(',
      'before the redaction redaction_undone: is given one that was not rewritten',
    ),
  ],
  'attack/forged-certificates.test.ts': [
    without('readCertificate', 'checkSignature(', 'certificate_invalid: another date'),
  ],
  'unit/store/redaction-limits.test.ts': [
    swap(
      'checkConfirmed',
      ['versionIds.filter((versionId) => !known.has(versionId))', '[]'],
      'a confirmed selection is the limit: nothing is done if more is selected now',
    ),
  ],
  'unit/store/redaction.test.ts': [
    without(
      'hide',
      'this.#dead.add(blob)',
      'a redaction erases one version and keeps its author, operation and time',
    ),
    without(
      'remakeRoot',
      'this.#dead.add(root)',
      'a redaction leaves no byte of the old objects in any file of the store',
    ),
  ],
  'unit/git/pack-filter.test.ts': [
    without('filterPack', 'removePacks(', 'a pack made by us without one in a hundred'),
  ],
  'attack/redaction-purge.test.ts': [
    never('decodeIntent', 'sha256(coded)', 'nothing is lost journal_corrupt: a bit of its head'),
  ],
  'attack/planted-purges.test.ts': [
    swap(
      'openIntent',
      ['&& equalBytes(codeOf(secret, body), code)', ''],
      'without the code of this device erases no live memory, and is reported',
    ),
    without('runPackJob', 'checkUnreached(', 'reachable objects journal_corrupt: a blob'),
  ],
  'unit/git/purge.test.ts': [
    never(
      'headsWithout',
      'dead.hasOid(oid)',
      'the purge erases no head of the branch, though a list of this device names it',
    ),
    swap(
      'due',
      ["=== 'committed'", '!== undefined || true'],
      'the purge leaves commits that come while a checkpoint packs to the next one',
    ),
  ],
  'fault/object-store-purge.test.ts': [
    without(
      'run',
      'packer.filter(',
      "what erases, t…' survives a death, 'torn', at each operation, losing 'nothing'",
    ),
  ],
  'interop/purge.test.ts': [
    without(
      'sweep',
      'sweepFiles(',
      "erasing after stock git has left 'gc with deltas between everything'",
    ),
    without(
      'sweepHeads',
      'sweep.removeKnown',
      "erasing after stock git has left 'ORIG_HEAD and FETCH_HEAD'",
    ),
  ],
}

const journal: MutantList = {
  'unit/git/journal-damage.test.ts': [
    never(
      'classifyRest',
      'batches.some(({ durable }) => durable > end)',
      'journal file with zeros in a sector of an append that others follow is refused',
    ),
    never(
      'findNext',
      '!isOfSame(this.#origin, head)',
      'a damaged journal file does not go on with an append of another use of the file',
    ),
    never(
      'findBatch',
      'bodySum(body)',
      'journal file with any bit flipped is refused, or shows all that was appended',
    ),
  ],
  'unit/git/journal-frame.test.ts': [
    swap(
      'headSum',
      ['new ByteWriter().u64(start).raw(fields).bytes()', 'fields'],
      'a batch decodes to the encoded frames, for any objects',
    ),
  ],
  'unit/git/journal.test.ts': [
    never('append', 'this.#poisoned', 'after a write that was neither made nor taken back'),
    never('find', 'gitHash(type, body)', 'that another process wrote under a wrong oid'),
    never('link', 'frame.expected !== at', 'does not fit if its files do not follow each other'),
    never('truncate', 'frames.length > 0', 'the journal truncates only when it holds nothing'),
  ],
  'fault/object-store-crash.test.ts': [
    without(
      'writeDurably',
      'this.#undoWrite(',
      'a commit on top of unsynced ones of a dead process survives a power failure',
    ),
    without(
      'packSealed',
      'packer.write(added)',
      "its first commit' survives a death, 'torn', at each operation, losing 'nothing'",
    ),
  ],
  'unit/git/writer-mark.test.ts': [
    swap(
      'refresh',
      ['isSame && this.#linked', 'this.#linked'],
      'a writer looks again after each commit of another handle',
    ),
  ],
}

const syncAndMerge: MutantList = {
  'unit/store/sync/change-members.test.ts': [
    without('changeMembers', 'catchUpWith(', 'asks every remote, unless told to continue with one'),
    without('push', 'isSent = true', 'receiving it is pending, and settled by a sync'),
    swap('push', ['(await takeBack(session, commit))', 'true'], 'made again once the host serves'),
    never('catchUpWith', 'only === true', 'asks every remote, unless told to continue with one'),
  ],
  'unit/store/sync/keyring-conflict.test.ts': [
    swap(
      'decideLeaving',
      ['repeats: takes &&', 'repeats: false &&'],
      'are settled with the remote’s, and no write is lost',
    ),
    without(
      'redactAgain',
      'redactHere(',
      'may repeat redactions and device changes of the other side',
    ),
  ],
  'attack/first-contact.test.ts': [
    never('judge', 'lacksSome && !lacksOwnOnly(', 'until an owner repairs it'),
    without('checkRemoval', 'checkAuthor(', 'by a writer is no removal'),
  ],
  'attack/remote-commits.test.ts': [
    always(
      'checkStoreId',
      '=== expected',
      'a newer format looks like an upgrade: not replaced by us, but restored by git',
    ),
  ],
  'unit/store/sync/redacted-between.test.ts': [
    without(
      'reconcile',
      'session.forgetAll()',
      'after its sync, no open store holds a text that another machine redacted',
    ),
  ],
  'unit/store/sync/lost-race.test.ts': [
    without('sendOver', 'connection.expect(', 'a race that is lost before the push costs no pack'),
  ],
  'attack/token-host.test.ts': [
    never(
      'whyWithheld',
      "url.protocol !== 'https:'",
      'is not sent for "git.example.org" to http://git.example.org/store.git',
    ),
  ],
  'unit/store/merge/content-merge.test.ts': [
    never('isFit', 'Bytes.byteLength(content) > limit', 'the limit holds for bytes'),
  ],
  'unit/store/merge/open-memories.test.ts': [
    swap(
      'openDraft',
      ['older.live ?? newer.live', 'newer.live'],
      'an open memory stays if one side edited and the other deleted it',
    ),
  ],
  'unit/store/merge/clashes.test.ts': [
    without(
      'join',
      'other.isLive = false',
      'at one path are joined into the older memory, lines by the age of the versions',
    ),
  ],
}

export const areas: Readonly<Record<string, MutantList>> = {
  keysAndFormat,
  verify,
  redactionAndPurge,
  journal,
  syncAndMerge,
  engine,
  grants,
}
