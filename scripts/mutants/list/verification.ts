// What makes a history acceptable.

import type { MutatedFile } from '../mutant.ts'

export const verification: readonly MutatedFile[] = [
  {
    file: 'format/characters.ts',
    mutants: [
      {
        line: '[0x2066, 0x206f],',
        becomes: '[0x2067, 0x206f],',
        test: 'unit/format/characters.test.ts',
        name: 'of all code points these are forbidden: those of the document',
      },
      {
        line: "if (text.normalize('NFC') !== text) return 'be in Unicode normalization form C'",
        becomes: '',
        test: 'unit/format/characters.test.ts',
        name: 'decomposed is read, and not written',
      },
    ],
  },
  {
    file: 'format/record-rules.ts',
    mutants: [
      {
        line: 'if (NO_ID.test(row.memoryId) !== isFirst) {',
        becomes: 'if (NO_ID.test(row.memoryId) && !isFirst) {',
        test: 'unit/format/record.test.ts',
        name: 'record_rows: a new memory with an id',
      },
      {
        line: 'if (NO_ID.test(row.memoryId) !== isFirst) {',
        becomes: 'if (!NO_ID.test(row.memoryId) && isFirst) {',
        test: 'unit/format/record.test.ts',
        name: 'record_rows: an edit of no memory',
      },
    ],
  },
  {
    file: 'format/row-ids.ts',
    mutants: [
      {
        line: 'const versionId = idOf(VERSION_LABEL, index)',
        becomes: 'const versionId = idOf(VERSION_LABEL, 0)',
        test: 'unit/format/row-ids.test.ts',
        name: 'the index has two bytes, and every part of the record tells',
      },
      {
        line: 'hash256(purpose, fromHex(storeId), hash, place)',
        becomes: 'hash256(purpose, fromHex(storeId), rows[index]?.commitment ?? hash, place)',
        test: 'attack/repeated-randomness.test.ts',
        name: 'another version by a row that creates a memory, and others merge both',
      },
    ],
  },
  {
    file: 'store/verify/verify-commit.ts',
    mutants: [
      {
        line: 'if (merging?.isLate === true) {',
        becomes: 'if (merging?.isLate === false) {',
        test: 'attack/lost-rights.test.ts',
        name: 'record_late: a merge of what a removed owner wrote',
      },
      {
        line: 'if (merging?.needsOwner === true &&',
        becomes: 'if (merging?.needsOwner === false &&',
        test: 'attack/lost-rights.test.ts',
        name: 'merge_needs_owner: a merge of a redaction by an owner of once, by itself',
      },
      {
        line: 'if (merging?.other.areKeyringsApart === true) {',
        becomes: 'if (record.height < 0) {',
        test: 'attack/lost-rights.test.ts',
        name: 'keyring_conflict: a merge of a removal and an enrolment by recovery key',
      },
      {
        line: 'checkSuccession({ seed: commit.epoch.seed, author, lastRecordOf }, before',
        becomes: 'void (before',
        test: 'attack/keyring.test.ts',
        name: 'a directory that does not follow is refused keyring_chain: a number is skipped',
      },
      {
        line: `record.kind === 'genesis' && opened.kid !== epoch.kid`,
        becomes: 'record.height < 0',
        test: 'attack/keyring.test.ts',
        name: 'refused record_epoch: a genesis that is sealed under another epoch than its own',
      },
      {
        line: 'if (!equalBytes(hash256(bytes), record.keyringHash)) {',
        becomes: 'if (bytes.length === 0) {',
        test: 'attack/keyring.test.ts',
        name: 'refused keyring_mismatch: one bit of it flipped after the record named its hash',
      },
      {
        line: '(snapshot.head !== beforeGenesis',
        becomes: '(snapshot.head === beforeGenesis',
        test: 'attack/keyring.test.ts',
        name: 'not authenticate is refused store_id_mismatch: other random bytes of the founder',
      },
      {
        line: 'oids.join() || toHexes(record.parents) !== toHexes(hashes))',
        becomes: 'oids.join())',
        test: 'attack/history.test.ts',
        name: 'T7: a record that claims another position is refused record_parents: another parent',
      },
      {
        line: '(commit.parents.join() !== oids.join() || toHexes(record.parents)',
        becomes: '(toHexes(record.parents)',
        test: 'attack/merges.test.ts',
        name: 'a rule is refused record_parents: the parents of the commit in the other order',
      },
      {
        line: 'if (record.height !== height) refuse(',
        becomes: 'if (record.height < height) refuse(',
        test: 'attack/merges.test.ts',
        name: 'T8: a merge that breaks a rule is refused record_height: another height',
      },
      {
        line: 'if (record.height !== height) refuse(',
        becomes: 'if (record.height > height) refuse(',
        test: 'attack/history.test.ts',
        name: 'claims another position is refused record_height: a smaller height',
      },
      {
        line: `  checkDeviceChain(device, commit)
`,
        becomes: '',
        test: 'attack/history.test.ts',
        name: 'T7: a record that claims another position is refused record_sequence: a used number',
      },
      {
        line: 'if (!equalBytes(record.previous, before?.record ?? zeroHash)) {',
        becomes: 'if (before !== undefined && !equalBytes(record.previous, before.record)) {',
        test: 'attack/history.test.ts',
        name: `claims another position is refused record_chain: another device's chain`,
      },
      {
        line: '!== tree) refuseTree(context, snapshot, tree)',
        becomes: '=== "") refuseTree(context, snapshot, tree)',
        test: 'attack/trees.test.ts',
        name: 'T12: a root tree with a fault is refused tree_mismatch: a file too many',
      },
      {
        line: '[])].filter(([, state]) => state.forked)',
        becomes: '[])].filter(() => false)',
        test: 'attack/merge-authors.test.ts',
        name: 'a merge is refused device_forked: the same, in a clone that has merged the merge',
      },
      {
        line: 'if (!equalBytes(hash256(bytes), record.settingsHash)) {',
        becomes: 'if (bytes.length === 0) {',
        test: 'attack/auditor.test.ts',
        name: 'auditor verifies and refuses: settings_mismatch, other settings than are named',
      },
      {
        line: 'if (!hasObject(context.objects, made)) refuse(',
        becomes: `if (made === '') refuse(`,
        test: 'attack/merges.test.ts',
        name: 'is refused object_missing: a tree that no row leads to, and that is not stored',
      },
      {
        line: 'if (record.sequence <= (before?.sequence ?? 0)) {',
        becomes: 'if (record.sequence < (before?.sequence ?? 0)) {',
        test: 'attack/history.test.ts',
        name: 'another position is refused record_sequence: the number of the record before',
      },
      {
        line: `if (record.kind === 'genesis') checkPublicFiles(`,
        becomes: `if (record.height < 0) checkPublicFiles(`,
        test: 'attack/trees.test.ts',
        name: 'with a fault is refused object_missing: a README.md that is named and not stored',
      },
      {
        line: 'if (!equalBytes(bytes, constant)) {',
        becomes: 'if (bytes.length !== constant.length) {',
        test: 'attack/trees.test.ts',
        name: 'public_file_mismatch: a README.md of the same length from genesis on',
      },
    ],
  },
  {
    file: 'store/verify/verify.ts',
    mutants: [
      {
        line: 'if (version < this.#memories.length) throw duplicateError()',
        becomes: '',
        test: 'unit/store/verify-merges.test.ts',
        name: 'a version that is added twice is of a record in two commits',
      },
    ],
  },
  {
    file: 'store/verify/verify-rows.ts',
    mutants: [
      {
        line: 'sides[0]?.versionId || row.secondBase !== sides[1]?.versionId)',
        becomes: 'sides[0]?.versionId)',
        test: 'attack/merges.test.ts',
        name: 'T8: a merge that breaks a rule is refused row_base_mismatch: one base',
      },
      {
        line: '(row.base !== sides[0]?.versionId || row.secondBase',
        becomes: '(row.secondBase',
        test: 'attack/merges.test.ts',
        name: 'merge that breaks a rule is refused row_base_mismatch: an older version as base',
      },
      {
        line: `if (row.secondBase !== zeroId) {
`,
        becomes: `if (row.secondBase === '') {
`,
        test: 'attack/rows.test.ts',
        name: 'rows that contradict the history are refused row_base_mismatch: a second base',
      },
      {
        line: 'if (row.base !== current.versionId) {',
        becomes: `if (row.base === '') {`,
        test: 'attack/rows.test.ts',
        name: 'rows that contradict the history are refused row_base_mismatch: an older base',
      },
      {
        line: `if (row.operation === 'created' && current.operation !== 'deleted') {`,
        becomes: `if (row.operation === 'created' && current.operation === 'created') {`,
        test: 'attack/rows.test.ts',
        name: 'the history are refused row_memory_exists: a restored memory that is not deleted',
      },
      {
        line: `if (row.operation !== 'created' && current.operation === 'deleted') {`,
        becomes: `if (row.operation === 'modified' && current.operation === 'deleted') {`,
        test: 'attack/rows.test.ts',
        name: 'the history are refused row_memory_missing: a deletion of a deleted memory',
      },
      {
        line: `if (row.operation !== 'created' && current.operation === 'deleted') {`,
        becomes: `if (row.operation === 'deleted' && current.operation === 'deleted') {`,
        test: 'attack/rows.test.ts',
        name: 'the history are refused row_memory_missing: a change of a deleted memory',
      },
      {
        line: 'if (!memories.has(memoryId)) {',
        becomes: `if (memoryId === '') {`,
        test: 'attack/merges.test.ts',
        name: 'a merge that breaks a rule is refused row_missing: no row for what both changed',
      },
      {
        line: 'if (live.length > 0 && !live.some((one) => one.path === path)) {',
        becomes: `if (path === '') {`,
        test: 'attack/rows.test.ts',
        name: 'the record commits to are refused detail_mismatch: a deletion at another path',
      },
      {
        line: 'if (commit.isWhole && memory.created !== created) {',
        becomes: 'if (commit.isWhole && memory.created > created) {',
        test: 'attack/rows.test.ts',
        name: 'to are refused memory_mismatch: a memory that was created at another time',
      },
      {
        line: `if (redacted) refuse('redaction_undone', 'A redacted version has its text back')`,
        becomes: '',
        test: 'attack/redaction-rewrite.test.ts',
        name: 'a detail that is not what was left redaction_undone: the redacted row, as it was',
      },
      {
        line: "if (!redacted) refuse('detail_missing',",
        becomes: "if (false) refuse('detail_missing',",
        test: 'attack/redaction.test.ts',
        name: 'what is missing without a redaction is refused detail_missing: detail and memory',
      },
      {
        line: 'if (memoryId !== row.memoryId || mergeContext.isElsewhere(row.versionId)) {',
        becomes: 'if (memoryId === undefined || mergeContext.isElsewhere(row.versionId)) {',
        test: 'attack/redaction.test.ts',
        name: 'redaction that may not be is refused redact_target: a version of another memory',
      },
      {
        line: `if (current?.versionId === row.versionId && current.operation !== 'deleted') {`,
        becomes: `if (row.versionId === '' && current?.operation !== 'deleted') {`,
        test: 'attack/redaction.test.ts',
        name: 'that may not be is refused redact_target: the current version of a live memory',
      },
      {
        line: 'if (memoryId !== row.memoryId || mergeContext.isElsewhere(row.versionId)) {',
        becomes: 'if (memoryId !== row.memoryId) {',
        test: 'attack/merges.test.ts',
        name: 'refused redact_target: a redaction of what only the other side has',
      },
    ],
  },
  {
    file: 'store/verify/context-free-check.ts',
    mutants: [
      {
        line: `    checkDetail(row, detail)
`,
        becomes: '',
        test: 'attack/rows.test.ts',
        name: 'what the record commits to are refused detail_mismatch: a detail of another path',
      },
      {
        line: `      checkDeletion(detail)
`,
        becomes: '',
        test: 'attack/rows.test.ts',
        name: 'what the record commits to are refused detail_mismatch: a deletion with a text',
      },
      {
        line: 'if (row < this.record.rows.length) continue',
        becomes: 'if (row >= 0) continue',
        test: 'attack/rows.test.ts',
        name: 'commits to are refused detail_malformed: a detail for a row that is not there',
      },
      {
        line: `      memory.versionId === row.versionId &&
`,
        becomes: '',
        test: 'attack/rows.test.ts',
        name: 'the record commits to are refused memory_mismatch: a memory of another version',
      },
      {
        line: `      memory.path === detail.path &&
`,
        becomes: '',
        test: 'attack/rows.test.ts',
        name: 'what the record commits to are refused memory_mismatch: a memory at another path',
      },
      {
        line: `      size === detail.size &&
`,
        becomes: '',
        test: 'attack/rows.test.ts',
        name: 'what the record commits to are refused memory_mismatch: a memory of another size',
      },
      {
        line: 'if (detail.size !== 0 || !equalBytes(detail.sha256, zeroHash)) {',
        becomes: 'if (detail.size !== 0) {',
        test: 'attack/rows.test.ts',
        name: 'detail_mismatch: a deletion that claims a hash',
      },
      {
        line: 'if (detail.size !== 0 || !equalBytes(detail.sha256, zeroHash)) {',
        becomes: 'if (!equalBytes(detail.sha256, zeroHash)) {',
        test: 'attack/rows.test.ts',
        name: 'detail_mismatch: a deletion that claims a size',
      },
      {
        line: `if (writesVersions(record) && record.rows.length === 0) whole.hasDetail(0)
`,
        becomes: '',
        test: 'attack/merges.test.ts',
        name: 'is refused detail_malformed: a detail for a row that it does not have',
      },
    ],
  },
]
